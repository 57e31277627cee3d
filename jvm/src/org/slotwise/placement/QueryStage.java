package org.slotwise.placement;

import java.util.Properties;

/**
 * One stage of one batch of a streaming query. {@code level} 0 of {@code levels} has the sources. Where
 * these take their records from stages that only read them, those have negative levels.
 */
public record QueryStage(String query, String name, long batch, int level, int levels) {

  /** The local property with the number of stages that only read. */
  private static final String READING = "slotwise.readingStages";

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
    int reading = Integer.parseInt(properties.getProperty(READING, "0"));
    return new QueryStage(query, name, Long.parseLong(batch), level - reading, levels - reading);
  }
}
