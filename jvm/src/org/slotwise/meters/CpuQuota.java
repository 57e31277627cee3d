package org.slotwise.meters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.PluginContext;

/**
 * Limits an executor's CPU by a Linux control group of its own, under the group that the driver
 * program made ({@code spark.slotwise.cgroup}), to the cores that {@code …cgroup.cores} gives its
 * host, if it gives any. An executor that cannot enter it fails to start, rather than run without a
 * limit.
 */
final class CpuQuota {
  private static final int PERIOD_MICROS = 5_000;

  private CpuQuota() {}

  static void enter(PluginContext context, String host) {
    SparkConf conf = context.conf();
    if (conf.get("spark.slotwise.cgroup", "").isEmpty()) {
      return;
    }
    Double cores = cores(conf.get("spark.slotwise.cgroup.cores"), host);
    if (cores == null) {
      return;
    }
    Path group =
        Path.of(conf.get("spark.slotwise.cgroup"), conf.getAppId() + "-" + context.executorID());
    String quota = Long.toString(Math.round(cores * PERIOD_MICROS));
    try {
      Files.createDirectories(group);
      if (conf.getInt("spark.slotwise.cgroup.version", 2) == 2) {
        Files.writeString(group.resolve("cpu.max"), quota + " " + PERIOD_MICROS);
      } else {
        Files.writeString(group.resolve("cpu.cfs_period_us"), "" + PERIOD_MICROS);
        Files.writeString(group.resolve("cpu.cfs_quota_us"), quota);
      }
      Files.writeString(group.resolve("cgroup.procs"), "" + ProcessHandle.current().pid());
    } catch (IOException refused) {
      throw new IllegalStateException("cannot enter the CPU quota at " + group, refused);
    }
  }

  /** Of {@code "127.0.0.11=0.5,127.0.0.12=1.0"}, the number for a host; null if it has none. */
  static Double cores(String text, String host) {
    for (String entry : text.split(",")) {
      if (entry.startsWith(host + "=")) {
        return Double.valueOf(entry.substring(host.length() + 1));
      }
    }
    return null;
  }
}
