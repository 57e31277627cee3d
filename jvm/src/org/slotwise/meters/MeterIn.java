package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;

/** {@code meter_in(x)}: x, and one arrival counted. */
public final class MeterIn extends OncePerRecord {
  public MeterIn(Expression value) {
    super("meter_in", List.of(value));
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterIn(changed.get(0));
  }

  /** So that a test for null is never folded, and this is evaluated for the test's sake. */
  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    TaskMeter.arrived();
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    return new ExprCode(
        value.code().$plus(code(METER + ".arrived();")), value.isNull(), value.value());
  }
}
