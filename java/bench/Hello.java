/** Does nothing: what is measured is the start and the end. */
public class Hello {
    public static void main(String[] args) {
        System.out.println("Hello");
    }
}
