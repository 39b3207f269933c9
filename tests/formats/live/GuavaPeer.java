// A real Guava beside our tool: see tests/cli/guava_test.cpp, which starts it once for all cases.
//
//   java -cp guava.jar GuavaPeer.java FOLDER
//
// FOLDER/cases has a line a case: NAME FUNNEL N FPP MEMBERS. NAME.keys holds keys as our tool reads them, of which the
// first MEMBERS are put into a filter. Writes NAME.theirs (writeTo), NAME.estimates (approximateElementCount and
// expectedFpp of that filter) and NAME.answers (a character 0 or 1 a key: what the filter in NAME.ours, which our tool
// wrote, answers).
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import com.google.common.io.BaseEncoding;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

public final class GuavaPeer {
  private static List<String> parts(Path file, char end) throws IOException {
    String text = Files.readString(file, StandardCharsets.UTF_8);
    List<String> out = new ArrayList<>();
    for (int at = 0; at < text.length(); ) {
      int stop = text.indexOf(end, at);
      out.add(text.substring(at, stop));
      at = stop + 1;
    }
    return out;
  }

  private static <T> void run(
      Path folder, String[] words, Funnel<? super T> funnel, char end, Function<String, T> parse) throws IOException {
    String name = words[0];
    List<T> keys = new ArrayList<>();
    for (String text : parts(folder.resolve(name + ".keys"), end)) {
      keys.add(parse.apply(text));
    }
    BloomFilter<T> theirs = BloomFilter.create(funnel, Long.parseLong(words[2]), Double.parseDouble(words[3]));
    for (T key : keys.subList(0, Integer.parseInt(words[4]))) {
      theirs.put(key);
    }
    try (OutputStream out = Files.newOutputStream(folder.resolve(name + ".theirs"))) {
      theirs.writeTo(out);
    }
    Files.writeString(
        folder.resolve(name + ".estimates"), theirs.approximateElementCount() + " " + theirs.expectedFpp() + "\n");
    BloomFilter<T> ours;
    try (InputStream in = Files.newInputStream(folder.resolve(name + ".ours"))) {
      ours = BloomFilter.readFrom(in, funnel);
    }
    StringBuilder answers = new StringBuilder();
    for (T key : keys) {
      answers.append(ours.mightContain(key) ? '1' : '0');
    }
    Files.writeString(folder.resolve(name + ".answers"), answers);
  }

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(args[0]);
    for (String line : parts(folder.resolve("cases"), '\n')) {
      String[] words = line.split(" ");
      switch (words[1]) {
        case "bytes":
          run(folder, words, Funnels.byteArrayFunnel(), '\n', BaseEncoding.base16().lowerCase()::decode);
          break;
        case "utf8":
          run(folder, words, Funnels.stringFunnel(StandardCharsets.UTF_8), '\0', (String text) -> text);
          break;
        case "utf16":
          run(folder, words, Funnels.unencodedCharsFunnel(), '\0', (String text) -> text);
          break;
        case "int":
          run(folder, words, Funnels.integerFunnel(), '\n', Integer::valueOf);
          break;
        case "long":
          run(folder, words, Funnels.longFunnel(), '\n', Long::valueOf);
          break;
        default:
          throw new IllegalArgumentException(line);
      }
    }
  }
}
