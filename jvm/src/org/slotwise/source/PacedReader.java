package org.slotwise.source;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.slotwise.meters.TaskMeter;

/** Reads one partition, each record when it is due and not before. */
final class PacedReader implements SupportsRealTimeRead<InternalRow> {

  /** {@code count} records from a position; -1: as many as come due. */
  record Part(Pace pace, long startMicros, PacedOffset.Position from, long count)
      implements InputPartition {}

  private final Part part;
  private final Cursor cursor;
  private final long nanosToMicros = microsNow() - System.nanoTime() / 1000;
  private final GenericInternalRow row = new GenericInternalRow(new Object[3]);

  /** Of the task that reads; null if it is not metered. */
  private final TaskMeter meter = TaskMeter.current();

  /** When the next record is. */
  private long due;

  PacedReader(Part part) {
    this.part = part;
    this.cursor = new Cursor(part.pace(), part.startMicros(), part.from());
    lookAhead();
  }

  private void lookAhead() {
    due = cursor.dueMicros();
    if (meter != null) {
      meter.nextIsDue(due);
    }
  }

  static long microsNow() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000L + now.getNano() / 1000;
  }

  /** Walks along the spans of a position. */
  static final class Cursor {
    private final Pace pace;
    private final long startMicros;
    private final int partition;
    private final List<Span> rest;
    private Span span;
    private long read;

    Cursor(Pace pace, long startMicros, PacedOffset.Position from) {
      this.pace = pace;
      this.startMicros = startMicros;
      this.partition = from.partition();
      this.read = from.read();
      this.rest = new ArrayList<>(from.spans());
      this.span = rest.remove(0);
      skipEmpty();
    }

    /** When the next record is due; Long.MAX_VALUE if there is none. */
    long dueMicros() {
      return span.isEmpty() ? Long.MAX_VALUE : pace.dueMicros(startMicros, span);
    }

    /** Passes the next record and gives its id. */
    long take() {
      long id = span.next();
      span = span.afterNext(pace.arrivals());
      read++;
      skipEmpty();
      return id;
    }

    /** Passes all records that are due by a time. */
    void takeUntil(long micros) {
      double records = pace.recordsBy(startMicros, micros);
      Span before;
      do {
        before = span;
        span = before.after(records, pace.arrivals());
        read += (span.next() - before.next()) / span.stride();
        skipEmpty();
      } while (!span.equals(before) && !span.isEmpty());
    }

    long read() {
      return read;
    }

    PacedOffset.Position position() {
      List<Span> spans = new ArrayList<>(rest);
      spans.add(0, span);
      return new PacedOffset.Position(partition, read, spans);
    }

    private void skipEmpty() {
      while (span.isEmpty() && !rest.isEmpty()) {
        span = rest.remove(0);
      }
    }
  }

  /** Real-time mode: waits for the next record, at most until the batch ends. */
  @Override
  public RecordStatus nextWithTimeout(Long timeoutMs) {
    long end = now() + timeoutMs * 1000;
    for (long now = now(); now < due; now = now()) {
      if (now >= end || Thread.currentThread().isInterrupted()) {
        return RecordStatus.newStatusWithoutArrivalTime(false);
      }
      LockSupport.parkNanos((Math.min(due, end) - now) * 1000);
    }
    long taken = due;
    take();
    return RecordStatus.newStatusWithArrivalTimeMs(taken / 1000);
  }

  /** Micro-batch mode: the records of the batch have all come due. */
  @Override
  public boolean next() {
    if (cursor.read() - part.from().read() == part.count()) {
      return false;
    }
    take();
    return true;
  }

  private void take() {
    long id = cursor.take();
    row.update(0, id);
    row.update(1, due);
    row.update(2, part.pace().payload().of(id));
    lookAhead();
  }

  private long now() {
    return nanosToMicros + System.nanoTime() / 1000;
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public PartitionOffset getOffset() {
    return cursor.position();
  }

  @Override
  public void close() {}
}
