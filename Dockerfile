# Slotwise, Spark and Java for driver and executors on Kubernetes:
#   docker build -t slotwise .
# docs/how-to/use-the-cluster-you-have.md says how it is used. Your own modules and jars go into an
# image on top of it: FROM slotwise, COPY them, and put the modules on PYTHONPATH.
ARG PYTHON_IMAGE=python:3.12-slim-bookworm

FROM ${PYTHON_IMAGE} AS built
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jdk-headless npm \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip install --no-cache-dir --target /opt/slotwise/python '/source[spark,page]'

FROM ${PYTHON_IMAGE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 185 --create-home spark
COPY --from=built /opt/slotwise /opt/slotwise
ENV PYTHONPATH=/opt/slotwise/python \
    PATH=/opt/slotwise/python/bin:$PATH \
    SPARK_HOME=/opt/slotwise/python/pyspark
# The archive of Java's classes is right for this Java and these paths only, so it is made here.
RUN install --mode 755 /opt/slotwise/python/slotwise/spark/kubernetes/entrypoint.sh /opt/slotwise/ \
 && python -m slotwise prepare
USER 185
WORKDIR /home/spark
ENTRYPOINT ["/opt/slotwise/entrypoint.sh"]
