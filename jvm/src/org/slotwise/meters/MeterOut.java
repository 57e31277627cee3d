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
 * {@code meter_out(x, targets)}: x, and one tuple counted as emitted to each target: a number, or a
 * struct whose last field is the number. {@code meter_sent} counts the same where the operator is done with its record already: one of several
 * tuples it made of it.
 */
public final class MeterOut extends OncePerRecord {
  private final boolean isDone;

  private MeterOut(boolean isDone, Expression value, Expression targets) {
    super(isDone ? "meter_out" : "meter_sent", List.of(value, targets));
    this.isDone = isDone;
  }

  public static MeterOut done(Expression value, Expression targets) {
    return new MeterOut(true, value, targets);
  }

  public static MeterOut sent(Expression value, Expression targets) {
    return new MeterOut(false, value, targets);
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterOut(isDone, changed.get(0), changed.get(1));
  }

  @Override
  public TypeCheckResult checkInputDataTypes() {
    DataType given = child(1).dataType();
    if (given instanceof NullType
        || (given instanceof ArrayType array && isTarget(array.elementType()))) {
      return TypeCheckResult.TypeCheckSuccess$.MODULE$;
    }
    return new TypeCheckResult.TypeCheckFailure(
        prettyName() + " takes an array of targets, not " + child(1).dataType().sql());
  }

  private static boolean isTarget(DataType element) {
    return element instanceof IntegerType
        || (element instanceof StructType struct
            && struct.fields()[struct.size() - 1].dataType() instanceof IntegerType);
  }

  /** Of a target; 0 if it is a plain number. */
  private int fields() {
    return child(1).dataType() instanceof ArrayType array
            && array.elementType() instanceof StructType struct
        ? struct.size()
        : 0;
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    ArrayData targets = (ArrayData) child(1).eval(row);
    TaskMeter meter = TaskMeter.current();
    if (meter != null && isDone) {
      meter.emitted(targets, fields());
    } else if (meter != null) {
      meter.sent(targets, fields());
    }
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    ExprCode targets = child(1).genCode(context);
    String call =
        String.format(
            "%s(%s ? null : (%s) %s, %d)",
            isDone ? "emitted" : "sent",
            targets.isNull(),
            ArrayData.class.getName(),
            targets.value(),
            fields());
    return new ExprCode(
        value.code().$plus(targets.code()).$plus(calling(context, call)),
        value.isNull(),
        value.value());
  }
}
