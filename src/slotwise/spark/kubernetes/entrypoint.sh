#!/bin/sh
# What the containers of Slotwise's image run: `driver ARGUMENTS` and `executor`, as Spark starts
# its pods, or any other command.
set -e

case "$1" in
  driver)
    shift
    exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
  executor)
    set --
    number=0
    while eval "[ -n \"\${SPARK_JAVA_OPT_$number+set}\" ]"; do
      eval "set -- \"\$@\" \"\$SPARK_JAVA_OPT_$number\""
      number=$((number + 1))
    done
    # As Spark's launcher has it, or Java does not accept the archive of classes: our jar, which is
    # in SPARK_CLASSPATH, comes first; what the launcher does not have comes last.
    set -- "$@" -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/conf:$(
      echo "$SPARK_HOME"/jars/slf4j-api-*.jar
    ):$SPARK_HOME/jars/*:$SPARK_CONF_DIR"
    exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$@" \
      "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" \
      --executor-id "$SPARK_EXECUTOR_ID" \
      --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" \
      --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
      --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  *)
    exec "$@"
    ;;
esac
