package org.slotwise.sink;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;

/**
 * A file of lines for one partition of a batch, in a folder that all executors see.
 *
 * <p>It gets its name when its batch's partition is done. A batch that failed and is run again writes
 * the same names, so that in the end every row is there once.
 */
final class LineFile {
  private final String folder;
  private final Path unfinished;
  private final Path finished;
  private final OutputStream lines;

  LineFile(String folder, long partition, long epoch) {
    this.folder = folder;
    String name = String.format("batch-%06d-%04d.json", epoch, partition);
    finished = Path.of(folder, name);
    unfinished = Path.of(folder, "." + name + "." + UUID.randomUUID());
    try {
      Files.createDirectories(Path.of(folder));
      lines = new BufferedOutputStream(Files.newOutputStream(unfinished));
    } catch (IOException failed) {
      throw named(failed);
    }
  }

  void write(byte[] line) {
    try {
      lines.write(line);
      lines.write('\n');
    } catch (IOException failed) {
      throw named(failed);
    }
  }

  void close(Throwable failure) {
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
