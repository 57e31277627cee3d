package org.slotwise.source;

import org.apache.spark.TaskContext;

/**
 * {@code record_place()}: another number for every record of a batch, by its partition and its place in
 * it, as Spark's {@code monotonically_increasing_id}, which streams may not call.
 */
public final class RecordPlace {
  private static final int PLACE_BITS = 33;
  private static final ThreadLocal<RecordPlace> CURRENT = new ThreadLocal<>();

  private final long task;
  private long next;

  private RecordPlace(TaskContext task) {
    this.task = task.taskAttemptId();
    this.next = (long) task.partitionId() << PLACE_BITS;
  }

  public static long next() {
    TaskContext task = TaskContext.get();
    RecordPlace place = CURRENT.get();
    if (place == null || place.task != task.taskAttemptId()) {
      place = new RecordPlace(task);
      CURRENT.set(place);
    }
    return place.next++;
  }
}
