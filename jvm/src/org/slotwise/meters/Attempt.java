package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;

/** {@code attempt(x)}: x, or null and one failure counted if computing x throws. */
public final class Attempt extends OncePerRecord {
  private static final String BEFORE = "boolean %s = true;\n%s %s = %s;\ntry {\n";
  private static final String AFTER =
      "\n%s = %s;\n%s = %s;\n} catch (RuntimeException failed) {\n%3$s = true;\n";

  public Attempt(Expression value) {
    super("attempt", List.of(value));
  }

  @Override
  Expression with(List<Expression> changed) {
    return new Attempt(changed.get(0));
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public Object eval(InternalRow row) {
    try {
      return child(0).eval(row);
    } catch (RuntimeException failed) {
      if (TaskMeter.current() != null) {
        TaskMeter.current().failed();
      }
      return null;
    }
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    String type = CodeGenerator.javaType(dataType());
    String none = CodeGenerator.defaultValue(dataType(), false);
    String before = String.format(BEFORE, result.isNull(), type, result.value(), none);
    String after =
        String.format(
            AFTER, result.value(), value.value(), result.isNull(), value.isNull());
    return new ExprCode(
        code(before)
            .$plus(value.code())
            .$plus(code(after))
            .$plus(calling(context, "failed()"))
            .$plus(code("}")),
        result.isNull(),
        result.value());
  }
}
