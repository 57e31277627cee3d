package org.slotwise.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/**
 * What remains to be read, per partition, and when the first record of all was due.
 *
 * <p>A restart goes on with the same due times: what came due meanwhile is late, not lost.
 */
final class PacedOffset extends Offset {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The spans one partition reads one after the other; only the last may be without end. */
  record Position(int partition, long read, List<Span> spans)
      implements PartitionOffset, Serializable {}

  /** As written to the checkpoint. */
  record Written(long startMicros, List<Position> positions) {}

  private final Written written;

  PacedOffset(long startMicros, List<Position> positions) {
    this.written = new Written(startMicros, List.copyOf(positions));
  }

  /** Partition p of P reads ids p, p + P, p + 2P, … below {@code end}. */
  static PacedOffset first(long startMicros, int partitions, long end, Arrivals arrivals) {
    return new PacedOffset(startMicros, fresh(0, partitions, end, 0, arrivals));
  }

  static PacedOffset parse(String json) {
    try {
      Written read = JSON.readValue(json, Written.class);
      return new PacedOffset(read.startMicros, read.positions);
    } catch (JsonProcessingException wrong) {
      throw new IllegalArgumentException(
          "the checkpoint has an offset that is not of the paced source: " + json, wrong);
    }
  }

  long startMicros() {
    return written.startMicros;
  }

  List<Position> positions() {
    return written.positions;
  }

  /**
   * The same remaining ids, read by another number of partitions.
   *
   * <p>Partitions are not equally far. Ids below the furthest one's next are debts: finite spans,
   * dealt out in turn, and read first; from there on the new partitions take turns.
   */
  PacedOffset spread(int partitions, long end, Arrivals arrivals) {
    if (partitions == positions().size()) {
      return this;
    }
    long top = 0;
    double topDue = 0;
    for (Position position : positions()) {
      Span last = last(position);
      top = Math.max(top, last.next());
      topDue = Math.max(topDue, last.due()); // for even arrivals this is `top`
    }
    List<Position> made = fresh(top, partitions, end, topDue, arrivals);
    int turn = 0;
    for (Span debt : debts(top)) {
      made.get(turn % partitions).spans().add(0, debt);
      turn++;
    }
    return new PacedOffset(startMicros(), made);
  }

  private List<Span> debts(long top) {
    List<Span> found = new ArrayList<>();
    for (Position position : positions()) {
      Span last = last(position);
      found.addAll(position.spans().subList(0, position.spans().size() - 1));
      found.add(new Span(last.next(), last.stride(), Math.min(top, last.end()), last.due()));
    }
    found.removeIf(Span::isEmpty);
    return found;
  }

  private static Span last(Position position) {
    return position.spans().get(position.spans().size() - 1);
  }

  private static List<Position> fresh(
      long first, int partitions, long end, double before, Arrivals arrivals) {
    List<Position> made = new ArrayList<>();
    for (int p = 0; p < partitions; p++) {
      // Even arrivals are due at their id; Poisson partitions each begin with a gap of their own.
      double due = arrivals.isPoisson() ? before + arrivals.gap(first + p, partitions) : before + p;
      Span span = new Span(first + p, partitions, end, due);
      made.add(new Position(p, 0, new ArrayList<>(List.of(span))));
    }
    return made;
  }

  @Override
  public String json() {
    try {
      return JSON.writeValueAsString(written);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
