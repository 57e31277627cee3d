package org.slotwise.sink;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;

/** A {@link BatchFile} of lines. */
final class LineFile {
  private final BatchFile file;
  private final OutputStream lines;

  LineFile(String folder, long partition, long epoch) {
    file = new BatchFile(folder, partition, epoch, "json");
    try {
      lines = new BufferedOutputStream(Files.newOutputStream(file.unfinished));
    } catch (IOException failed) {
      throw file.named(failed);
    }
  }

  void write(byte[] line) {
    try {
      lines.write(line);
      lines.write('\n');
    } catch (IOException failed) {
      throw file.named(failed);
    }
  }

  void close(Throwable failure) {
    try {
      lines.close();
      if (failure == null) {
        file.finish();
      }
    } catch (IOException failed) {
      throw file.named(failed);
    } finally {
      file.discard();
    }
  }
}
