/*
 * target_data.c: logged data and posterior samples, text and arrays of records. The first byte chooses the
 * ending of the file and the settings, the rest is the file.
 */
#include "fuzz.h"

#include "io/format.h"

#include <math.h>

static void require_counts(const nadir_counts *counts)
{
    double total = 0;
    fuzz_require(counts->states > 0 && counts->rows >= counts->states, "every state has a row");
    fuzz_require(counts->state_rows[counts->states] == counts->rows, "rows belong to states");
    fuzz_require(counts->row_starts[counts->rows] == counts->nonzeros, "transitions belong to rows");
    for (int64_t i = 0; i < counts->nonzeros; i++) {
        fuzz_require(counts->columns[i] >= 0 && counts->columns[i] < counts->states, "successors are states");
        fuzz_require(counts->counts[i] > 0 && isfinite(counts->counts[i]), "what is there was seen");
        total += counts->counts[i];
    }
    fuzz_require(fabs(total - counts->total) <= 1e-9 * total, "the total is the sum");
}

static void require_samples(const nadir_samples *samples)
{
    fuzz_require(samples->outcomes > 0 && samples->states > 0, "there are kernels of some states");
    for (int64_t k = 0; k < samples->outcomes; k++) {
        const double *kernel = samples->probabilities + k * samples->nonzeros;
        for (int64_t row = 0; row < samples->rows; row++) {
            double sum = 0;
            for (int64_t i = samples->row_starts[row]; i < samples->row_starts[row + 1]; i++) {
                fuzz_require(kernel[i] >= 0 && samples->columns[i] < samples->states, "rows are of states");
                sum += kernel[i];
            }
            fuzz_require(fabs(sum - 1) < 1e-9, "rows sum to one");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) {
        return 0;
    }
    nadir_context *context = fuzz_context();
    nadir_data data;
    const nadir_data_settings settings = {
        .states = (bytes[0] & 2) != 0 ? 6 : 0,
        .actions = (bytes[0] & 4) != 0 ? 3 : 0,
        .ragged = (bytes[0] & 8) != 0,
        .columns = (bytes[0] & 16) != 0 ? "state=x,next=state,done=end" : NULL,
    };
    const char *path = fuzz_file((bytes[0] & 1) != 0 ? ".npy" : ".csv", bytes + 1, size - 1);
    if (nadir_data_read(context, path, &settings, &data) == NADIR_OK) {
        fuzz_require((data.counts != NULL) != (data.samples != NULL), "data are counts or samples");
        if (data.counts != NULL) {
            require_counts(data.counts);
            fuzz_require(data.names[0].count == 0 || data.names[0].count == data.counts->states,
                         "names are those of the states");
        } else {
            require_samples(data.samples);
        }
    } else {
        fuzz_require(nadir_context_error(context)[0] != '\0', "who refuses a file says why");
    }
    nadir_data_clear(context, &data);
    nadir_context_free(context);
    return 0;
}
