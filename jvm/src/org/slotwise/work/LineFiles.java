package org.slotwise.work;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;

/** Lines that tasks collect and write many at a time, each task to a file of its own. */
public final class LineFiles {
  private static final Map<Long, LineFiles> OPEN = new ConcurrentHashMap<>();

  private final Path file;
  private final StringBuilder collected = new StringBuilder();
  private long lines;

  private LineFiles(Path file) {
    this.file = file;
  }

  /**
   * Collects a line for the file of this thread's task in {@code folder}; every {@code batch} lines
   * and at the task's end they are written to it. Gives the length of the line in bytes.
   */
  public static long write(UTF8String folder, UTF8String line, long batch) {
    TaskContext task = TaskContext.get();
    LineFiles open = OPEN.get(task.taskAttemptId());
    if (open == null) {
      open = new LineFiles(fileOf(folder.toString(), task));
      OPEN.put(task.taskAttemptId(), open);
      TaskCompletionListener atEnd = ended -> OPEN.remove(ended.taskAttemptId()).flush();
      task.addTaskCompletionListener(atEnd);
    }
    open.collected.append(line).append('\n');
    if (++open.lines >= batch) {
      open.flush();
    }
    return line.numBytes();
  }

  private static Path fileOf(String folder, TaskContext task) {
    String name =
        String.format(
            "%s-%04d-%04d.txt",
            task.getLocalProperty("sql.streaming.queryId"), task.stageId(), task.partitionId());
    return Path.of(folder, name);
  }

  private void flush() {
    try {
      Files.createDirectories(file.getParent());
      byte[] bytes = collected.toString().getBytes(StandardCharsets.UTF_8);
      Files.write(file, bytes, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException failed) {
      throw new UncheckedIOException("cannot write to " + file + ": " + failed, failed);
    }
    collected.setLength(0);
    lines = 0;
  }
}
