package org.slotwise.work;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;

/**
 * What an operator in Java or Scala computes of a tuple, a row with its fields, {@code id} and {@code
 * ts}: by a class with a constructor without parameters, which is a {@code MapFunction}, {@code
 * FlatMapFunction} or {@code FilterFunction} of rows. Each task has an object of it, for a batch.
 */
public final class JavaOperator implements UDF1<Row, Object> {
  private final String type;
  private transient Object function;

  public JavaOperator(String type) {
    this.type = type;
  }

  /**
   * A function of columns with results of this type, called once for a tuple, whatever its result is
   * used for. Made here, because Python finds the overloads of {@code udf} in any order.
   */
  public static UserDefinedFunction function(String type, DataType made) {
    return functions.udf(new JavaOperator(type), made).asNondeterministic();
  }

  @Override
  @SuppressWarnings("unchecked")
  public Object call(Row row) throws Exception {
    if (function == null) {
      function = made(loaded(type));
    }
    if (function instanceof FilterFunction<?> condition) {
      return ((FilterFunction<Row>) condition).call(row);
    }
    if (function instanceof FlatMapFunction<?, ?> several) {
      List<Object> made = new ArrayList<>();
      Iterator<?> rows = ((FlatMapFunction<Row, ?>) several).call(row);
      rows.forEachRemaining(made::add);
      return made;
    }
    return ((MapFunction<Row, ?>) function).call(row);
  }

  /**
   * What the class is, for Python: map, flat, where, foreach; or none of these, an empty text. Throws
   * {@code ClassNotFoundException}.
   */
  public static String kind(String type, ClassLoader loader) throws ClassNotFoundException {
    Class<?> found = Class.forName(type, false, loader);
    if (FilterFunction.class.isAssignableFrom(found)) {
      return "where";
    }
    if (FlatMapFunction.class.isAssignableFrom(found)) {
      return "flat";
    }
    if (MapFunction.class.isAssignableFrom(found)) {
      return "map";
    }
    return ForeachWriter.class.isAssignableFrom(found) ? "foreach" : "";
  }

  /** From the jars that the task has. */
  public static Class<?> loaded(String type) {
    try {
      return Class.forName(type, true, Thread.currentThread().getContextClassLoader());
    } catch (ClassNotFoundException missing) {
      throw new IllegalStateException("there is no class " + type, missing);
    }
  }

  public static Object made(Class<?> type) {
    try {
      return type.getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException failed) {
      throw new IllegalStateException(
          "cannot make a " + type.getName() + ": it needs a constructor without parameters",
          failed);
    }
  }
}
