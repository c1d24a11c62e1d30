/** Ends by an exception that nobody catches. */
public class Boom { public static void main(String[] a) { throw new IllegalStateException("boom " + 3); } }
