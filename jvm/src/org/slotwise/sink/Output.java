package org.slotwise.sink;

import org.apache.spark.sql.Row;

/** Where the tuples of a sink go, in one task. */
interface Output {
  /** Before the first tuple that the task has for it. */
  void open(long partition, long epoch);

  /**
   * {@code key} and {@code value} are the message; {@code id} and {@code ts} the tuple's. {@code row}
   * has the tuple's fields, too, for a sink that takes them.
   */
  void write(long id, long ts, byte[] key, byte[] value, Row row);

  /**
   * After the task's last tuple. When this returns, and {@code failure} is null, all of them are
   * where they belong; else the batch is going to be repeated.
   */
  void close(Throwable failure);

  /** Closes every one, also after one that throws; then throws what the first has thrown. */
  static void closeAll(Iterable<Output> outputs, Throwable failure) {
    RuntimeException first = null;
    for (Output output : outputs) {
      try {
        output.close(first == null ? failure : first);
      } catch (RuntimeException failed) {
        first = first == null ? failed : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
