package org.slotwise.meters;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.api.plugin.PluginContext;

/**
 * Limits an executor's CPU by a Linux control group of its own, under the group that the driver
 * program made ({@code spark.slotwise.cgroup}), to the cores that its worker was started with
 * ({@value #CORES}), if there are any: workers may be started after the driver. An executor that
 * cannot enter it fails to start, rather than run without a limit.
 */
final class CpuQuota {
  private static final String CORES = "SLOTWISE_CORES";
  private static final int PERIOD_MICROS = 5_000;

  private CpuQuota() {}

  static void enter(PluginContext context) {
    SparkConf conf = context.conf();
    String given = System.getenv(CORES);
    if (conf.get("spark.slotwise.cgroup", "").isEmpty() || given == null) {
      return;
    }
    double cores = Double.parseDouble(given);
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
}
