package org.slotwise.sink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.UUID;

/**
 * The file of one partition of a batch, in a folder that all executors see.
 *
 * <p>It gets its name when its batch's partition is done. A batch that failed and is run again writes
 * the same names, so that in the end every row is there once.
 */
final class BatchFile {
  private final String folder;
  private final Path finished;
  final Path unfinished;

  BatchFile(String folder, long partition, long epoch, String extension) {
    this.folder = folder;
    String name = String.format("batch-%06d-%04d.%s", epoch, partition, extension);
    finished = Path.of(folder, name);
    unfinished = Path.of(folder, "." + name + "." + UUID.randomUUID());
    try {
      Files.createDirectories(Path.of(folder));
    } catch (IOException failed) {
      throw named(failed);
    }
  }

  void finish() throws IOException {
    Files.move(unfinished, finished, StandardCopyOption.ATOMIC_MOVE);
  }

  void discard() {
    unfinished.toFile().delete(); // unless it is the finished one by now
  }

  UncheckedIOException named(IOException failed) {
    return new UncheckedIOException("cannot write to " + folder + ": " + failed.getMessage(), failed);
  }
}
