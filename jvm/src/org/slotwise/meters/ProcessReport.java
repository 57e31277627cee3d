package org.slotwise.meters;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** An executor's message to the driver: its process, and its tasks since the last message. */
record ProcessReport(
    String executor,
    String host,
    long pid,
    long atMillis,
    long cpuNanos,
    long memoryBytes,
    long heapBytes,
    List<Report> tasks)
    implements Serializable {

  private static final Path STATUS = Path.of("/proc/self/status");

  static ProcessReport now(String executor, String host, List<Report> tasks) {
    var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    return new ProcessReport(
        executor,
        host,
        ProcessHandle.current().pid(),
        System.currentTimeMillis(),
        system.getProcessCpuTime(),
        residentBytes(),
        heap,
        tasks);
  }

  /** Resident memory of this process as Linux reports it; 0 elsewhere. */
  private static long residentBytes() {
    try (var lines = Files.lines(STATUS)) {
      return lines
          .filter(line -> line.startsWith("VmRSS:"))
          .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("[^0-9]", "")))
          .findFirst()
          .orElse(0);
    } catch (IOException notLinux) {
      return 0;
    }
  }
}
