package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code meter_out(x, targets)}: x, and one tuple counted as emitted to each target, a number. {@code
 * meter_out(x, routes, first)}: the same, where the targets are structs (operator, thread, …) and the
 * number is first[operator] + thread. {@code meter_sent} counts the same where the operator is done
 * with its record already: one of several tuples that it made of it.
 */
public final class MeterOut extends OncePerRecord {
  private final boolean isDone;
  private final boolean hasRoutes;

  private MeterOut(boolean isDone, List<Expression> given) {
    super(isDone ? "meter_out" : "meter_sent", given);
    this.isDone = isDone;
    this.hasRoutes = given.size() > 2;
  }

  public static MeterOut done(List<Expression> given) {
    return new MeterOut(true, given);
  }

  public static MeterOut sent(List<Expression> given) {
    return new MeterOut(false, given);
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterOut(isDone, changed);
  }

  @Override
  public TypeCheckResult checkInputDataTypes() {
    DataType given = child(1).dataType();
    if (hasRoutes && !(isArrayOfNumbers(child(2).dataType()) && child(2).foldable())) {
      return refusal("a constant array of numbers", 2);
    }
    if (given instanceof NullType || (hasRoutes ? isArrayOfRoutes(given) : isArrayOfNumbers(given))) {
      return TypeCheckResult.TypeCheckSuccess$.MODULE$;
    }
    return refusal(hasRoutes ? "an array of routes" : "an array of numbers", 1);
  }

  private TypeCheckResult refusal(String expected, int position) {
    return new TypeCheckResult.TypeCheckFailure(
        prettyName() + " expects " + expected + ", not " + child(position).dataType().sql());
  }

  private static boolean isArrayOfNumbers(DataType type) {
    return type instanceof ArrayType array && array.elementType() instanceof IntegerType;
  }

  private static boolean isArrayOfRoutes(DataType type) {
    return type instanceof ArrayType array
        && array.elementType() instanceof StructType route
        && route.size() >= 2
        && route.fields()[0].dataType() instanceof IntegerType
        && route.fields()[1].dataType() instanceof IntegerType;
  }

  /** Of a route; 0 if targets are plain numbers. */
  private int fields() {
    return child(1).dataType() instanceof ArrayType array
            && array.elementType() instanceof StructType route
        ? route.size()
        : 0;
  }

  /** Null if targets are plain numbers. */
  private int[] first() {
    return hasRoutes ? ((ArrayData) child(2).eval(null)).toIntArray() : null;
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    ArrayData targets = (ArrayData) child(1).eval(row);
    TaskMeter meter = TaskMeter.current();
    if (meter != null && isDone) {
      meter.emitted(targets, fields(), first());
    } else if (meter != null) {
      meter.sent(targets, fields(), first());
    }
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    ExprCode targets = child(1).genCode(context);
    String first = hasRoutes ? context.addReferenceObj("first", first(), "int[]") : "null";
    String call =
        String.format(
            "%s(%s ? null : (%s) %s, %d, %s)",
            isDone ? "emitted" : "sent",
            targets.isNull(),
            ArrayData.class.getName(),
            targets.value(),
            fields(),
            first);
    return new ExprCode(
        value.code().$plus(targets.code()).$plus(calling(context, call)),
        value.isNull(),
        value.value());
  }
}
