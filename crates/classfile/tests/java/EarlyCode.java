/** Constructors with statements before the call of another one: Java 22 and later. */
public class EarlyCode {
    static class Base {
        final int value;

        Base(int value) {
            this.value = value;
        }
    }

    static class Checked extends Base {
        final String text;

        Checked(int value) {
            int twice;
            try {
                twice = Math.multiplyExact(value, 1_000_000_000);
            } catch (ArithmeticException e) {
                twice = -1;
            }
            if (value == 3) {
                throw new IllegalArgumentException("three");
            }
            while (twice > 10) {
                twice /= 10;
            }
            super(twice);
            text = value == 4 ? fail() : "value " + value;
        }

        private static String fail() {
            throw new IllegalStateException("four");
        }
    }

    public static void main(String[] args) {
        for (int i = 0; i < 6; i++) {
            try {
                Checked checked = new Checked(i);
                System.out.println(checked.text + checked.value);
            } catch (RuntimeException e) {
                System.out.println(e.getMessage());
            }
        }
    }
}
