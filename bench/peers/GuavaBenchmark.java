// Guava's BloomFilter in a JVM, measured like the others (bench/timed_case.hpp): chunks of 32,768 keys that are made
// before the clock runs, the tenth percentile of many, memory touched before; and first enough look-ups for the compiler
// of the JVM to finish. Rows have the form of those that bench_peers writes.
//
//     java -cp guava.jar:. GuavaBenchmark BITS_PER_KEY KEY_TYPES SIZES      such as: 12 u64,url 1000,1000000
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.LongFunction;

public final class GuavaBenchmark {
  private static final int CHUNK = 32_768;
  private static final int CHUNKS = 40;
  private static long kept;

  private enum Way { SINGLE, DEPENDENT }

  // A type of keys: how they are made from numbers, and how Guava takes them.
  private record KeyType<T>(String name, Funnel<? super T> funnel, LongFunction<T> make) {}

  private static long mix(long x) {
    x ^= x >>> 33;
    x *= 0xff51afd7ed558ccdL;
    x ^= x >>> 33;
    x *= 0xc4ceb9fe1a85ec53L;
    return x ^ (x >>> 33);
  }

  private static byte[] bytes16(long number) {
    byte[] out = new byte[16];
    long low = mix(number);
    long high = mix(number ^ 0x9e3779b97f4a7c15L);
    for (int i = 0; i < 8; ++i) {
      out[i] = (byte) (low >>> (8 * i));
      out[8 + i] = (byte) (high >>> (8 * i));
    }
    return out;
  }

  private static final String[] PARTS = {"/articles", "/2024", "/catalogue", "/a", "/products", "/images", "/downloads",
      "/en", "/tag", "/user", "/questions", "/search", "/archive", "/r", "/releases", "/topics"};

  // As long as the URLs of the other candidates: 65 bytes on average.
  private static String url(long number) {
    long unique = mix(number);
    long choice = mix(unique ^ 0x9e3779b97f4a7c15L);
    StringBuilder out = new StringBuilder("https://archive.example.org");
    for (long i = (choice & 3) + 1; i != 0; --i) {
      choice >>>= 4;
      out.append(PARTS[(int) (choice & 15)]);
    }
    return out.append("/p/").append(Long.toHexString(unique | 1L << 63)).toString();
  }

  private static <T> List<T> chunk(KeyType<T> type, long first, int count) {
    List<T> out = new ArrayList<>(count);
    for (int i = 0; i < count; ++i) out.add(type.make().apply(first + i));
    return out;
  }

  private static <T> List<T> presentChunk(KeyType<T> type, long keys, long salt) {
    List<T> out = new ArrayList<>(CHUNK);
    for (int i = 0; i < CHUNK; ++i) out.add(type.make().apply(1 + Long.remainderUnsigned(mix(salt + i), keys)));
    return out;
  }

  private static double low(double[] times) {
    Arrays.sort(times);
    return times[times.length / 10];
  }

  private static <T> long query(BloomFilter<T> filter, List<T> keys, Way way) {
    long hits = 0;
    if (way == Way.SINGLE) {
      for (T key : keys) hits += filter.mightContain(key) ? 1 : 0;
      return hits;
    }
    int last = 0;
    for (int i = 0; i + 1 < keys.size(); ++i) {
      last = filter.mightContain(keys.get(i + last)) ? 1 : 0;
      hits += last;
    }
    return hits;
  }

  private static final long FAR = 1L << 62;
  private static long queried = FAR;
  private static long falsePositives;
  private static long probes;

  private static <T> double timeQueries(BloomFilter<T> filter, KeyType<T> type, long keys, Way way, boolean present) {
    double[] times = new double[CHUNKS];
    for (int i = 0; i < CHUNKS; ++i) {
      queried += CHUNK;
      List<T> block = present ? presentChunk(type, keys, queried) : chunk(type, queried, CHUNK);
      long start = System.nanoTime();
      long hits = query(filter, block, way);
      times[i] = (System.nanoTime() - start) / (double) CHUNK;
      kept += hits;
      if (!present && way == Way.SINGLE) {
        falsePositives += hits;
        probes += CHUNK;
      }
    }
    return low(times);
  }

  private static <T> double timeFill(BloomFilter<T> filter, KeyType<T> type, long keys) {
    double[] times = new double[(int) ((keys + CHUNK - 1) / CHUNK)];
    int done = 0;
    for (long first = 0; first < keys; first += CHUNK) {
      int count = (int) Math.min(CHUNK, keys - first);
      List<T> block = chunk(type, 1 + first, count);
      long start = System.nanoTime();
      for (T key : block) kept += filter.put(key) ? 1 : 0;
      times[done++] = (System.nanoTime() - start) / (double) count;
    }
    return low(times);
  }

  private static <T> String row(KeyType<T> type, long keys, double bitsPerKey) {
    double fpr = Math.pow(0.5, bitsPerKey * Math.log(2));
    BloomFilter<T> filter = null;
    double add = Double.MAX_VALUE;
    for (long done = 0; done < Math.max(keys, 3_000_000); done += keys) {
      filter = BloomFilter.create(type.funnel(), keys, fpr);
      add = Math.min(add, timeFill(filter, type, keys));
    }
    for (Way way : Way.values()) timeQueries(filter, type, keys, way, true);
    falsePositives = 0;
    probes = 0;
    double absent = timeQueries(filter, type, keys, Way.SINGLE, false);
    double absentDependent = timeQueries(filter, type, keys, Way.DEPENDENT, false);
    double present = timeQueries(filter, type, keys, Way.SINGLE, true);
    double presentDependent = timeQueries(filter, type, keys, Way.DEPENDENT, true);
    // Guava rounds its bits up to whole longs and keeps no more than them.
    double bits = Math.ceil(-keys * Math.log(fpr) / (Math.log(2) * Math.log(2)) / 64) * 64;
    return String.format(Locale.ROOT,
        " {\"name\": \"Guava BloomFilter\", \"version\": \"%s\", \"build\": \"JVM %s\", \"sized_by_bits\": true, "
            + "\"key_type\": \"%s\", \"keys\": %d, \"bits_per_key\": %.3f, \"memory_bytes\": %.0f, \"fpr\": %.6g, "
            + "\"probes\": %d, \"has_batches\": false, \"ns_per_key\": {\"add\": %.3f, \"add_single\": %.3f, "
            + "\"absent_batch\": %.3f, \"absent_single\": %.3f, \"absent_dependent\": %.3f, \"present_batch\": %.3f, "
            + "\"present_single\": %.3f, \"present_dependent\": %.3f}}",
        System.getProperty("guava.version", "unknown"), System.getProperty("java.version"), type.name(), keys,
        bits / keys, bits / 8, falsePositives / (double) probes, probes, add, add, absent, absent, absentDependent,
        present, present, presentDependent);
  }

  public static void main(String[] words) {
    if (words.length != 3) {
      System.err.println("GuavaBenchmark: expected bits per key, types of keys and sizes, such as: 12 u64,url 1000,1000000");
      System.exit(2);
    }
    List<KeyType<?>> types = List.of(new KeyType<Long>("u64", Funnels.longFunnel(), GuavaBenchmark::mix),
        new KeyType<byte[]>("bytes16", Funnels.byteArrayFunnel(), GuavaBenchmark::bytes16),
        new KeyType<CharSequence>("url", Funnels.stringFunnel(StandardCharsets.UTF_8), GuavaBenchmark::url));
    List<String> rows = new ArrayList<>();
    for (KeyType<?> type : types) {
      if (!List.of(words[1].split(",")).contains(type.name())) continue;
      row(type, 100_000, Double.parseDouble(words[0]));
      for (String size : words[2].split(",")) rows.add(row(type, Long.parseLong(size), Double.parseDouble(words[0])));
    }
    System.out.println("{\"rows\": [\n" + String.join(",\n", rows) + "\n]}");
    if (kept == 42) System.err.println(kept);
  }
}
