package org.slotwise.sink;

import org.apache.spark.sql.Row;

/** Values, one per line, in one {@link LineFile} for each partition of a batch that has some. */
final class JsonLines implements Output {
  private final String folder;
  private LineFile file;

  JsonLines(String folder) {
    this.folder = folder;
  }

  @Override
  public void open(long partition, long epoch) {
    file = new LineFile(folder, partition, epoch);
  }

  @Override
  public void write(long id, long ts, byte[] key, byte[] value, Row row) {
    file.write(value);
  }

  @Override
  public void close(Throwable failure) {
    file.close(failure);
  }
}
