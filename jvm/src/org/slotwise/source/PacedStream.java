package org.slotwise.source;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;

/** The driver's side of the paced source: offsets and partitions of batches. */
final class PacedStream
    implements MicroBatchStream, SupportsRealTimeMode, SupportsAdmissionControl {
  private final Pace pace;

  /** Spark asks for it more than once before the first batch. */
  private PacedOffset initial;

  PacedStream(Pace pace) {
    this.pace = pace;
  }

  @Override
  public synchronized Offset initialOffset() {
    if (initial == null) {
      long start = PacedReader.microsNow() + pace.delayMs() * 1000;
      initial = PacedOffset.first(start, pace.partitions(), pace.end(), pace.arrivals());
    }
    return initial;
  }

  @Override
  public Offset deserializeOffset(String json) {
    return PacedOffset.parse(json);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("Spark calls latestOffset(start, limit)");
  }

  /** All that is due by now. Real-time mode asks for it, too, before each batch. */
  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    PacedOffset from = spread(start, pace.partitions());
    long now = PacedReader.microsNow();
    List<PacedOffset.Position> reached = new ArrayList<>();
    for (PacedOffset.Position position : from.positions()) {
      PacedReader.Cursor cursor = new PacedReader.Cursor(pace, from.startMicros(), position);
      cursor.takeUntil(now);
      reached.add(cursor.position());
    }
    return new PacedOffset(from.startMicros(), reached);
  }

  /**
   * The end has the due time of the first record: a first batch that is run again after a restart has
   * its end from the checkpoint and a new {@link #initialOffset}.
   */
  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    List<PacedOffset.Position> until = ((PacedOffset) end).positions();
    PacedOffset from = spread(start, until.size());
    InputPartition[] parts = new InputPartition[until.size()];
    for (int p = 0; p < parts.length; p++) {
      PacedOffset.Position position = from.positions().get(p);
      long count = until.get(p).read() - position.read();
      parts[p] = new PacedReader.Part(pace, ((PacedOffset) end).startMicros(), position, count);
    }
    return parts;
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start) {
    PacedOffset from = spread(start, pace.partitions());
    return from.positions().stream()
        .map(position -> new PacedReader.Part(pace, from.startMicros(), position, -1))
        .toArray(InputPartition[]::new);
  }

  /** Real-time mode: where the partitions of the batch were when it ended. */
  @Override
  public Offset mergeOffsets(PartitionOffset[] ends) {
    PacedOffset.Position[] positions = new PacedOffset.Position[ends.length];
    for (PartitionOffset end : ends) {
      PacedOffset.Position position = (PacedOffset.Position) end;
      positions[position.partition()] = position;
    }
    return new PacedOffset(startMicros, List.of(positions));
  }

  private PacedOffset spread(Offset offset, int partitions) {
    PacedOffset made = ((PacedOffset) offset).spread(partitions, pace.end(), pace.arrivals());
    startMicros = made.startMicros();
    return made;
  }

  /** Of the batch planned last: the ends that a real-time batch reports do not repeat it. */
  private volatile long startMicros;

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return part -> new PacedReader((PacedReader.Part) part);
  }

  @Override
  public void commit(Offset end) {}

  @Override
  public void stop() {}
}
