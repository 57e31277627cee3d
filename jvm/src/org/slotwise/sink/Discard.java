package org.slotwise.sink;

import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/** Takes every row and keeps none: for runs whose meters are the result. */
public final class Discard extends ForeachWriter<Row> {
  @Override
  public boolean open(long partition, long epoch) {
    return true;
  }

  @Override
  public void process(Row row) {}

  @Override
  public void close(Throwable failure) {}
}
