package org.slotwise.sink;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Row;
import org.slotwise.meters.MetersPlugin;

/** The first tuples of each partition of a batch, as JSON, on the driver's standard error. */
final class Console implements Output {
  private final String sink;
  private final int most;
  private int left;

  Console(String sink, int most) {
    this.sink = sink;
    this.most = most;
  }

  @Override
  public void open(long partition, long epoch) {
    left = most;
  }

  @Override
  public void write(long id, long ts, byte[] key, byte[] value, Row row) {
    if (left > 0) {
      left--;
      MetersPlugin.tell(sink + ": " + new String(value, StandardCharsets.UTF_8));
    }
  }

  @Override
  public void close(Throwable failure) {}
}
