package org.slotwise.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskFailureListener;

/**
 * Where records go that an operator failed on and left out: beside the query, because it has one
 * writer, and that is in its last level.
 *
 * <p>A task ends when its letters are where they belong, so a batch is not committed before they are.
 */
public final class DeadLetters {
  /**
   * The local property of the query's tasks with an {@link Outputs.Sink} as JSON, whose target gets a
   * folder for each operator. It may have a password, and Spark leaves out of its logs and pages what
   * is called secret.
   */
  private static final String SINK = "slotwise.secret.deadLetters";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ThreadLocal<Map<String, Output>> OPENED = new ThreadLocal<>();

  private DeadLetters() {}

  /** One more: a JSON object with operator, id, ts and record, to which the reason is added. */
  public static void write(String letter, Exception failed) {
    TaskContext task = TaskContext.get();
    if (task == null) {
      return; // no query: the driver folds a constant
    }
    try {
      ObjectNode node = (ObjectNode) JSON.readTree(letter);
      node.put("reason", reason(failed));
      output(task, node.get("operator").asText())
          .write(
              node.get("id").asLong(),
              node.get("ts").asLong(),
              null,
              JSON.writeValueAsBytes(node),
              null);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** What the last cause says. */
  static String reason(Throwable failed) {
    Throwable last = failed;
    while (last.getCause() != null && last.getCause() != last) {
      last = last.getCause();
    }
    String told = last.getMessage();
    return told == null || told.isBlank() ? last.getClass().getSimpleName() : told.lines().findFirst().get();
  }

  private static Output output(TaskContext task, String operator) throws JsonProcessingException {
    Map<String, Output> opened = OPENED.get();
    if (opened == null) {
      opened = new HashMap<>();
      OPENED.set(opened);
      closeWith(task, opened);
    }
    Output made = opened.get(operator);
    if (made == null) {
      String batch = task.getLocalProperty("streaming.sql.batchId");
      made =
          JSON.readValue(task.getLocalProperty(SINK), Outputs.Sink.class)
              .within(operator)
              .opened(task.partitionId(), batch == null ? 0 : Long.parseLong(batch));
      opened.put(operator, made);
    }
    return made;
  }

  /** Listeners are called by the task's thread. */
  private static void closeWith(TaskContext task, Map<String, Output> opened) {
    Throwable[] failure = new Throwable[1];
    TaskFailureListener failing = (context, thrown) -> failure[0] = thrown;
    TaskCompletionListener ending =
        context -> {
          OPENED.remove();
          Output.closeAll(opened.values(), failure[0]);
        };
    task.addTaskFailureListener(failing);
    task.addTaskCompletionListener(ending);
  }
}
