import com.intel.gkl.pairhmm.IntelPairHmm;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.broadinstitute.gatk.nativebindings.pairhmm.HaplotypeDataHolder;
import org.broadinstitute.gatk.nativebindings.pairhmm.PairHMMNativeArguments;
import org.broadinstitute.gatk.nativebindings.pairhmm.ReadDataHolder;

/** Times GKL's PairHMM on one thread: arguments FILE.in and the number of passes; prints processor seconds and sum of answers per pass. */
public class GklPairHmm {
    static byte[] qualities(String text, int floor) {
        byte[] values = text.getBytes();
        for (int i = 0; i < values.length; i++) values[i] = (byte) Math.max(values[i] - 33, floor);
        return values;
    }

    public static void main(String[] arguments) throws Exception {
        List<ReadDataHolder[]> reads = new ArrayList<>();
        List<HaplotypeDataHolder[]> haplotypes = new ArrayList<>();
        var lines = Files.readAllLines(Path.of(arguments[0])).iterator();
        while (lines.hasNext()) {
            String[] sizes = lines.next().split(" ");
            var regionReads = new ReadDataHolder[Integer.parseInt(sizes[0])];
            var regionHaplotypes = new HaplotypeDataHolder[Integer.parseInt(sizes[1])];
            for (int r = 0; r < regionReads.length; r++) {
                String[] fields = lines.next().split(" ");
                var read = regionReads[r] = new ReadDataHolder();
                read.readBases = fields[0].getBytes();
                read.readQuals = qualities(fields[1], 6);
                read.insertionGOP = qualities(fields[2], 0);
                read.deletionGOP = qualities(fields[3], 0);
                read.overallGCP = qualities(fields[4], 0);
            }
            for (int h = 0; h < regionHaplotypes.length; h++) {
                regionHaplotypes[h] = new HaplotypeDataHolder();
                regionHaplotypes[h].haplotypeBases = lines.next().trim().getBytes();
            }
            reads.add(regionReads);
            haplotypes.add(regionHaplotypes);
        }
        var clock = ManagementFactory.getThreadMXBean();
        var kernel = new IntelPairHmm();
        if (!kernel.load(null)) throw new IllegalStateException("GKL's library cannot be loaded");
        var settings = new PairHMMNativeArguments();
        settings.useDoublePrecision = false;
        settings.maxNumberOfThreads = 1;
        kernel.initialize(settings);
        for (int pass = 0; pass < Integer.parseInt(arguments[1]); pass++) {
            double sum = 0, seconds = 0;
            for (int region = 0; region < reads.size(); region++) {
                var answers = new double[reads.get(region).length * haplotypes.get(region).length];
                long start = clock.getCurrentThreadCpuTime();
                kernel.computeLikelihoods(reads.get(region), haplotypes.get(region), answers);
                seconds += (clock.getCurrentThreadCpuTime() - start) / 1e9;
                for (double answer : answers) sum += answer;
            }
            System.out.println(seconds + " " + sum);
        }
    }
}
