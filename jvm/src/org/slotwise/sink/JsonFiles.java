package org.slotwise.sink;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/**
 * Writes rows as lines of JSON, one file for each partition of a batch, in a folder that all
 * executors see.
 *
 * <p>A file gets its name when its batch's partition is done. A batch that failed and is run again
 * writes the same names, so that in the end every row is there once.
 */
public final class JsonFiles extends ForeachWriter<Row> {
  private final String folder;
  private transient Path unfinished;
  private transient Path finished;
  private transient BufferedWriter lines;

  public JsonFiles(String folder) {
    this.folder = folder;
  }

  @Override
  public boolean open(long partition, long epoch) {
    String name = String.format("batch-%06d-%04d.json", epoch, partition);
    finished = Path.of(folder, name);
    unfinished = Path.of(folder, "." + name + "." + UUID.randomUUID());
    try {
      lines = Files.newBufferedWriter(unfinished);
    } catch (IOException failed) {
      throw named(failed);
    }
    return true;
  }

  @Override
  public void process(Row row) {
    try {
      lines.write(row.json());
      lines.write('\n');
    } catch (IOException failed) {
      throw named(failed);
    }
  }

  @Override
  public void close(Throwable failure) {
    if (lines == null) {
      return;
    }
    try {
      lines.close();
      if (failure == null) {
        Files.move(unfinished, finished, StandardCopyOption.ATOMIC_MOVE);
      }
    } catch (IOException failed) {
      throw named(failed);
    } finally {
      unfinished.toFile().delete(); // unless it is the finished one by now
    }
  }

  private UncheckedIOException named(IOException failed) {
    return new UncheckedIOException("cannot write to " + folder + ": " + failed.getMessage(), failed);
  }
}
