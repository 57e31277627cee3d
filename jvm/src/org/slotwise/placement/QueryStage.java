package org.slotwise.placement;

import java.util.Properties;

/**
 * One stage of one batch of a streaming query. {@code level} 0 of {@code levels} reads the sources.
 */
public record QueryStage(String query, String name, long batch, int level, int levels) {

  /** In Spark's tag of a job that reads the table of a join, which it runs before the batch. */
  private static final String BROADCAST = "broadcast exchange";

  /** The stage that a task set's properties name; null if it is not one of a streaming query. */
  static QueryStage of(Properties properties, int level, int levels) {
    String query = properties == null ? null : properties.getProperty("sql.streaming.queryId");
    if (query == null || properties.getProperty("spark.job.tags", "").contains(BROADCAST)) {
      return null;
    }
    String batch = properties.getProperty("streaming.sql.batchId", "-1");
    // The first line of a batch's description is the query's name; empty if it has none.
    String name = properties.getProperty("spark.job.description", "").split("\n", 2)[0].strip();
    return new QueryStage(query, name, Long.parseLong(batch), level, levels);
  }
}
