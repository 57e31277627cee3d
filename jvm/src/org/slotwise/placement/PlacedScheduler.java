package org.slotwise.placement;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.Task;
import org.apache.spark.scheduler.TaskDescription;
import org.apache.spark.scheduler.TaskLocation;
import org.apache.spark.scheduler.TaskLocation$;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.TaskSet;
import org.apache.spark.scheduler.TaskSetManager;
import org.apache.spark.scheduler.WorkerOffer;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's scheduler, with the tasks of placed queries pinned to the executors of their slots.
 *
 * <p>Each stage of a batch passes through {@link #submitTasks} before Spark looks at its tasks; a
 * task of a placed query gets its slot's executor as its only preferred location, and Spark's
 * locality scheduling, set to wait ({@code spark.locality.wait.process}), does the rest. So a new
 * placement holds from the next batch on. Tasks of other queries and jobs are left as they are.
 *
 * <p>Python calls the public methods; answers are JSON.
 */
public final class PlacedScheduler extends TaskSchedulerImpl {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Map<String, Placement> placements = new HashMap<>();
  private final Journal journal = new Journal();
  private final SparkContext context;
  private final Set<String> ended = new HashSet<>();
  /** Null where executors say themselves on which host they are. */
  private final KubernetesNodes nodes;

  private volatile Slots slots = new Slots(List.of());

  PlacedScheduler(SparkContext context) {
    this(context, null);
  }

  PlacedScheduler(SparkContext context, KubernetesNodes nodes) {
    super(context);
    this.context = context;
    this.nodes = nodes;
  }

  /**
   * Asks a master for so many executors: {@code spark://host:port}, or that of the session's URL if it
   * was connected while the driver started.
   */
  public void connect(String master, int executors) {
    if (backend() instanceof LateBackend late) {
      late.connect(master, executors);
    }
    request(executors);
  }

  /** The workers of the standalone master at {@code spark://host:port}. */
  public String workers(String master) throws JsonProcessingException {
    return JSON.writeValueAsString(StandaloneMaster.workers(master));
  }

  /** Asks for so many executors in all, which replace lost ones; those that run are not ended. */
  public void request(int executors) {
    Object profile = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
    executorsOf().requestTotalExecutors(map(Map.of(profile, executors)), map(Map.of()), map(Map.of()));
  }

  /** Gives executors back, separated by commas; {@link #request} has said how many are left. */
  public void release(String executors) {
    List<String> ids = Arrays.asList(executors.split(","));
    executorsOf().killExecutors(CollectionConverters.asScala(ids).toSeq(), false, false, true);
  }

  private CoarseGrainedSchedulerBackend executorsOf() {
    return (CoarseGrainedSchedulerBackend) backend();
  }

  private static <K, V> scala.collection.immutable.Map<K, V> map(Map<K, V> map) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(map));
  }

  /** Sets the slots: the host of each, separated by commas. */
  public synchronized void setSlots(String hosts) {
    slots = slots.on(Arrays.asList(hosts.split(",")));
  }

  /** Pins a query (its name or id) from its next batch on; see {@link Placement#parse}. */
  public synchronized void place(String query, String placement) {
    placements.put(query, Placement.parse(placement));
  }

  /** As {@link #setSlots} and {@link #place}, with no batch in between. */
  public synchronized void place(String query, String placement, String hosts) {
    setSlots(hosts);
    place(query, placement);
  }

  /** Leaves a query to Spark from its next batch on. */
  public synchronized void unplace(String query) {
    placements.remove(query);
  }

  /**
   * A query's run is going to be stopped. Spark may still begin a batch of it and cancel that later:
   * its tasks are left as they are, whatever placement holds by then.
   */
  public synchronized void end(String run) {
    ended.add(run);
  }

  /** The living executors: {@code {id: host}}. */
  public String executors() throws JsonProcessingException {
    return JSON.writeValueAsString(living());
  }

  /** Per slot its executor, null for none. */
  public synchronized String slotExecutors() throws JsonProcessingException {
    slots.bind(living());
    List<String> bound = new ArrayList<>();
    for (int slot = 0; slot < slots.count(); slot++) {
      bound.add(slots.executor(slot));
    }
    return JSON.writeValueAsString(bound);
  }

  /** Where the tasks of a query's last batch went that runs or ran whole, and its fall-backs. */
  public String where(String query) throws JsonProcessingException {
    return JSON.writeValueAsString(journal.of(query));
  }

  /** The streaming stage with this id, if it is one of the last; else null. */
  public QueryStage stage(int stageId) {
    return journal.stage(stageId);
  }

  /** The highest id of all streaming stages until now; later ones have higher ids. */
  public int lastStage() {
    return journal.lastStage();
  }

  /** The slot an executor stands for; -1 for none. */
  public synchronized int slotOf(String executor) {
    return slots.slot(executor);
  }

  @Override
  public void submitTasks(TaskSet tasks) {
    QueryStage stage = stageOf(tasks);
    boolean hasRoom = stage == null || stage.level() < 0 || placed(tasks, stage);
    super.submitTasks(tasks);
    if (!hasRoom) {
      abort(tasks);
    }
  }

  /** Pins the tasks of a placed query; false if one has no living executor with room. */
  private synchronized boolean placed(TaskSet tasks, QueryStage stage) {
    Placement placement = placementOf(stage);
    boolean isPlaced = placement != null && fits(placement, stage, tasks);
    int[] planned = isPlaced ? placement.level(stage.level()) : null;
    journal.begin(tasks.stageId(), stage, tasks.tasks().length, planned);
    return !isPlaced || pin(tasks, stage, placement);
  }

  @Override
  public synchronized Seq<Seq<TaskDescription>> resourceOffers(
      IndexedSeq<WorkerOffer> offers, boolean isAllFreeResources) {
    Seq<Seq<TaskDescription>> launched = super.resourceOffers(offers, isAllFreeResources);
    for (Seq<TaskDescription> ofOffer : CollectionConverters.asJava(launched)) {
      for (TaskDescription task : CollectionConverters.asJava(ofOffer)) {
        note(task);
      }
    }
    return launched;
  }

  /** A job's stages are numbered parents first, so a stage's rank in its job is its level. */
  private QueryStage stageOf(TaskSet tasks) {
    if (hasEnded(tasks)) {
      return null;
    }
    Option<Object> job = tasks.tasks()[0].jobId();
    Option<scala.collection.mutable.HashSet<Object>> ids =
        context.dagScheduler().jobIdToStageIds().get(job.isEmpty() ? -1 : job.get());
    if (ids.isEmpty()) {
      return null;
    }
    int level = 0;
    for (Object id : CollectionConverters.asJava(ids.get())) {
      level += (Integer) id < tasks.stageId() ? 1 : 0;
    }
    return QueryStage.of(tasks.properties(), level, ids.get().size());
  }

  /** Jobs of a run are in a group that has its id. */
  private synchronized boolean hasEnded(TaskSet tasks) {
    return tasks.properties() != null
        && ended.contains(tasks.properties().getProperty("spark.jobGroup.id", ""));
  }

  private Placement placementOf(QueryStage stage) {
    Placement named = stage.name().isEmpty() ? null : placements.get(stage.name());
    return named != null ? named : placements.get(stage.query());
  }

  private boolean fits(Placement placement, QueryStage stage, TaskSet tasks) {
    int partitions = tasks.tasks()[0].numPartitions();
    if (placement.levels() == stage.levels()
        && placement.level(stage.level()).length == partitions) {
      return true;
    }
    String reason =
        String.format(
            "the placement does not fit: it has %d levels, the batch has %d stages, stage %d has %d"
                + " tasks; Spark places the query",
            placement.levels(), stage.levels(), stage.level(), partitions);
    journal.missed(stage, new Journal.Miss(stage.batch(), stage.level(), -1, -1, null, reason));
    return false;
  }

  /** Pins every task of a stage; false if one has no living executor with room. */
  private boolean pin(TaskSet tasks, QueryStage stage, Placement placement) {
    Map<String, String> living = living();
    slots.bind(living);
    Placement.Resolved resolved = placement.resolve(slots, threadsPerSlot());
    boolean hasRoom = true;
    for (Task<?> task : tasks.tasks()) {
      String executor = resolved.executors()[stage.level()][task.partitionId()];
      hasRoom &= executor != null;
      if (executor != null) {
        prefer(task, TaskLocation$.MODULE$.apply(living.get(executor), executor));
      }
    }
    for (Placement.FallBack fallBack : resolved.fallBacks()) {
      if (fallBack.level() == stage.level()) {
        report(stage, fallBack);
      }
    }
    return hasRoom;
  }

  private void report(QueryStage stage, Placement.FallBack fallBack) {
    String reason =
        "slot " + fallBack.slot() + " on " + slots.host(fallBack.slot()) + " has no executor";
    Journal.Miss miss =
        new Journal.Miss(
            stage.batch(),
            fallBack.level(),
            fallBack.partition(),
            fallBack.slot(),
            fallBack.executor(),
            reason);
    if (journal.missed(stage, miss)) {
      log()
          .warn(
              "{}: level {} partition {} goes to executor {}",
              reason,
              miss.level(),
              miss.partition(),
              miss.executor());
    }
  }

  /** A job that cannot run all its tasks would wait for ever: it fails with the reason. */
  private void abort(TaskSet tasks) {
    Option<TaskSetManager> manager =
        taskSetManagerForAttempt(tasks.stageId(), tasks.stageAttemptId());
    if (manager.isDefined()) {
      String message =
          "too few executors for the placement: slots were lost, and the others have no room for"
              + " their threads (" + threadsPerSlot() + " threads per slot)";
      manager.get().abort(message, Option.empty());
    }
  }

  /** Writes down where a task was launched. */
  private void note(TaskDescription task) {
    TaskSetManager manager = taskIdToTaskSetManager().get(task.taskId());
    QueryStage stage = manager == null ? null : journal.stage(manager.taskSet().stageId());
    if (stage == null) {
      return;
    }
    String executor = task.executorId();
    journal.launched(
        manager.taskSet().stageId(),
        task.partitionId(),
        slots.slot(executor),
        executor,
        living().get(executor));
  }

  private synchronized Map<String, String> living() {
    Map<String, String> found = new HashMap<>();
    for (Map.Entry<String, String> entry :
        CollectionConverters.asJava(executorIdToHost()).entrySet()) {
      String host = nodes == null ? entry.getValue() : nodes.of(entry.getKey());
      if (host != null && isExecutorAlive(entry.getKey())) {
        found.put(entry.getKey(), host);
      }
    }
    return found;
  }

  /** The room of an executor for tasks, as Spark counts it: its cores by those of a task. */
  private int threadsPerSlot() {
    BigDecimal cores = new BigDecimal(context.conf().get("spark.executor.cores", "1"));
    BigDecimal ofTask = new BigDecimal(context.conf().get("spark.task.cpus", "1"));
    return cores.divideToIntegralValue(ofTask).intValueExact();
  }

  /** Spark offers no setter: the field is the same in both kinds of task. */
  private static void prefer(Task<?> task, TaskLocation location) {
    try {
      Field field = task.getClass().getDeclaredField("preferredLocs");
      field.setAccessible(true);
      field.set(task, CollectionConverters.asScala(List.of(location)).toSeq());
    } catch (ReflectiveOperationException changed) {
      throw new IllegalStateException("tasks of this Spark version have no field preferredLocs", changed);
    }
  }
}
