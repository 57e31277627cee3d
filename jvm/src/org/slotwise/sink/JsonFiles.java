package org.slotwise.sink;

import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/** Writes rows as lines of JSON, one {@link LineFile} for each partition of a batch. */
public final class JsonFiles extends ForeachWriter<Row> {
  private final String folder;
  private transient LineFile file;

  public JsonFiles(String folder) {
    this.folder = folder;
  }

  @Override
  public boolean open(long partition, long epoch) {
    file = new LineFile(folder, partition, epoch);
    return true;
  }

  @Override
  public void process(Row row) {
    file.write(row.json().getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void close(Throwable failure) {
    if (file != null) {
      file.close(failure);
    }
  }
}
