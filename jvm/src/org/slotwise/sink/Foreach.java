package org.slotwise.sink;

import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.slotwise.work.JavaOperator;

/** A writer of a user's: a class from the jars of the spec, with a constructor without parameters. */
final class Foreach implements Output {
  private final ForeachWriter<Row> writer;
  private boolean takesRows;

  @SuppressWarnings("unchecked")
  Foreach(String type) {
    writer = (ForeachWriter<Row>) JavaOperator.made(JavaOperator.loaded(type));
  }

  @Override
  public void open(long partition, long epoch) {
    takesRows = writer.open(partition, epoch);
  }

  @Override
  public void write(long id, long ts, byte[] key, byte[] value, Row row) {
    if (takesRows) {
      writer.process(row);
    }
  }

  @Override
  public void close(Throwable failure) {
    writer.close(failure);
  }
}
