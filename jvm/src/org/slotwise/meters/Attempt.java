package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.unsafe.types.UTF8String;
import org.slotwise.sink.DeadLetters;

/**
 * {@code attempt(x)}: x, or null and one failure counted if computing x throws. {@code attempt(x,
 * letter)}: the letter, a text that is computed only then, also goes to the {@link DeadLetters}.
 */
public final class Attempt extends OncePerRecord {
  private static final String BEFORE = "boolean %s = true;\n%s %s = %s;\ntry {\n";
  private static final String AFTER =
      "\n%s = %s;\n%s = %s;\n} catch (Exception failed) {\n%3$s = true;\n";
  private static final String SEND = "\n%s.write(%s.toString(), failed);\n";

  private final boolean hasLetter;

  public Attempt(List<Expression> given) {
    super("attempt", given);
    hasLetter = given.size() > 1;
  }

  @Override
  Expression with(List<Expression> changed) {
    return new Attempt(changed);
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public Object eval(InternalRow row) {
    try {
      return child(0).eval(row);
    } catch (Exception failed) {
      if (TaskMeter.current() != null) {
        TaskMeter.current().failed();
      }
      if (hasLetter) {
        DeadLetters.write(((UTF8String) child(1).eval(row)).toString(), failed);
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
        String.format(AFTER, result.value(), value.value(), result.isNull(), value.isNull());
    return new ExprCode(
        code(before)
            .$plus(value.code())
            .$plus(code(after))
            .$plus(calling(context, "failed()"))
            .$plus(sent(context))
            .$plus(code("}")),
        result.isNull(),
        result.value());
  }

  private Block sent(CodegenContext context) {
    if (!hasLetter) {
      return code("");
    }
    ExprCode letter = child(1).genCode(context);
    String send = String.format(SEND, DeadLetters.class.getName(), letter.value());
    return letter.code().$plus(code(send));
  }
}
