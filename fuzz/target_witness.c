/*
 * target_witness.c: witness files, JSON, whose digest is nadir verify's business and not the reader's.
 */
#include "fuzz.h"

#include "io/result_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    nadir_context *context = fuzz_context();
    nadir_model *model = fuzz_model(context);
    nadir_witness witness;
    const char *path = fuzz_file(".json", bytes, size);
    if (nadir_witness_read(context, model, path, &witness) == NADIR_OK) {
        fuzz_require(witness.radius_count >= 0, "as many radii as there are");
        nadir_witness_clear(context, &witness);
    }
    nadir_model_free(model);
    nadir_context_free(context);
    return 0;
}
