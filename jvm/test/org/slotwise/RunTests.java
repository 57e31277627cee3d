package org.slotwise;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls every static method of the given class; run with {@code -ea}. Exits 1 if one fails. */
public final class RunTests {
  private RunTests() {}

  public static void main(String[] names) throws ReflectiveOperationException {
    boolean hasFailed = false;
    for (Method test : Class.forName(names[0]).getDeclaredMethods()) {
      if (test.getParameterCount() > 0 || test.isSynthetic()) {
        continue;
      }
      test.setAccessible(true);
      try {
        test.invoke(null);
        System.out.println("ok " + test.getName());
      } catch (InvocationTargetException failed) {
        hasFailed = true;
        System.out.println("FAILED " + test.getName());
        failed.getCause().printStackTrace(System.out);
      }
    }
    System.exit(hasFailed ? 1 : 0);
  }
}
