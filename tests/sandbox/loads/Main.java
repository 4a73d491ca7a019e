// The loads in Java; the first line of stdin names the one to play.
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

public class Main {
    static final byte[] HELD = new byte[24 << 20];

    static int depth(int n) { return n > 0 ? 1 + depth(n - 1) : 0; }

    public static void main(String[] args) throws Exception {
        switch (new Scanner(System.in).next()) {
            case "threads": {
                CyclicBarrier allHere = new CyclicBarrier(61);
                for (int i = 0; i < 60; i++)
                    new Thread(() -> { try { allHere.await(); } catch (Exception e) { throw new RuntimeException(e); } }).start();
                allHere.await();
                System.out.println("threads 60");
                break;
            }
            case "recursion": System.out.println("recursion " + depth(5000)); break;
            case "files": {
                List<Writer> all = new ArrayList<>();
                for (int i = 0; i < 100; i++) all.add(new FileWriter("file" + i));
                System.out.println("files " + all.size());
                break;
            }
            case "libraries": {
                int found = 0;
                for (int i = 0; i < 80; i++) if (Main.class.getResource("/library" + i) != null) found++;
                System.out.println("libraries " + found);
                break;
            }
            case "arrays": {
                int sum = 0;
                for (int i = 0; i < 24; i++) HELD[i << 20] = 1;
                for (int i = 0; i < 24; i++) sum += HELD[i << 20];
                System.out.println("arrays " + sum);
                break;
            }
            case "small_files": {
                long sum = 0;
                Files.createDirectory(Path.of("folder"));
                for (int i = 0; i < 300; i++) {
                    Path path = Path.of("folder", "" + i);
                    Files.writeString(path, "x".repeat(100));
                    sum += Files.size(path);
                }
                System.out.println("small_files " + sum);
                break;
            }
        }
    }
}
