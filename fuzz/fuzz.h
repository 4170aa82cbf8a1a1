/*
 * fuzz.h: what the fuzz targets share.
 *
 * A target is one file fuzz/target_NAME.c with LLVMFuzzerTestOneInput, which libFuzzer and AFL++ know;
 * replay.c runs it on files without either. Input that a reader refuses is fine; what must not happen is a
 * crash, a leak, a hang or a finding of the sanitizers, and what a reader accepts must be what it says it is.
 */
#ifndef NADIR_FUZZ_FUZZ_H
#define NADIR_FUZZ_FUZZ_H

#include "nadir.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A context that may take 256 MiB and one thread; to be freed. */
nadir_context *fuzz_context(void);

/* A file with these bytes and this ending (".csv"), the same for every input of this process; gone when it
 * ends. Two endings may be alive at once. */
const char *fuzz_file(const char *ending, const uint8_t *bytes, size_t size);

/* RiverSwim and its uniform policy: something small that files are about. */
nadir_model *fuzz_model(nadir_context *context);
nadir_policy *fuzz_policy(nadir_context *context, const nadir_model *model);

/* Ends the process as a crash does: something that must hold does not. */
_Noreturn void fuzz_fail(const char *what);

static inline void fuzz_require(int holds, const char *what)
{
    if (!holds) {
        fuzz_fail(what);
    }
}

#endif
