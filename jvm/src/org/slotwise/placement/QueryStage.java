package org.slotwise.placement;

import java.util.Properties;

/**
 * One stage of one batch of a streaming query. {@code level} 0 of {@code levels} reads the sources.
 */
public record QueryStage(String query, String name, long batch, int level, int levels) {

  /** The stage that a task set's properties name; null if it is not of a streaming query. */
  static QueryStage of(Properties properties, int level, int levels) {
    String query = properties == null ? null : properties.getProperty("sql.streaming.queryId");
    if (query == null) {
      return null;
    }
    String batch = properties.getProperty("streaming.sql.batchId", "-1");
    // The first line of a batch's description is the query's name; empty if it has none.
    String name = properties.getProperty("spark.job.description", "").split("\n", 2)[0].strip();
    return new QueryStage(query, name, Long.parseLong(batch), level, levels);
  }
}
