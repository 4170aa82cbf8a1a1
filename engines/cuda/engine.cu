/*
 * engine.cu: the engine of one NVIDIA device; see base/engine.h and base/device.h.
 *
 * All work goes to the default stream, so that calls follow one another. NADIR_DEVICE_MEMORY, in bytes, makes
 * the device smaller than it is: what a model would need can be tried out anywhere. NADIR_DEVICE_BLOCK, in
 * columns, makes products take the ways of large models: see cuda_engine.block.
 */
#include "parts.h"
#include "place.h"
#include "vectors.h"

#include <cstdlib>
#include <cstring>

static const double gibibyte = 1024.0 * 1024 * 1024;

static cuda_engine the_engine; /* of this process */

nadir_status cuda_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                         cudaError_t code)
{
    (void)cudaGetLastError(); /* an error that does not last is forgotten */
    return engine->host->fail(context,
                              code == cudaErrorMemoryAllocation ? NADIR_ERROR_MEMORY : NADIR_ERROR_IO,
                              "the device failed: %s (%.60s)", cudaGetErrorString(code), what);
}

nadir_status cuda_library_failed(const cuda_engine *engine, nadir_context *context, const char *what,
                                 int code)
{
    (void)cudaGetLastError();
    return engine->host->fail(context, NADIR_ERROR_IO, "a library of the device failed: status %d of %.60s",
                              code, what);
}

/* Bytes that may still be taken; all: of the device. */
static double room_left(const cuda_engine *engine, double *all)
{
    size_t left = 0;
    size_t total = 0;
    (void)cudaMemGetInfo(&left, &total);
    const double allowed = engine->limit - engine->used;
    *all = engine->limit < (double)total ? engine->limit : (double)total;
    return allowed < (double)left ? allowed : (double)left;
}

bool cuda_take_spare(cuda_engine *engine, double bytes, void **block)
{
    double all;
    void *made = NULL;
    if (bytes <= room_left(engine, &all) && cudaMalloc(&made, bytes > 0 ? (size_t)bytes : 1) == cudaSuccess) {
        engine->used += bytes;
        *block = made;
        return true;
    }
    (void)cudaGetLastError();
    return false;
}

nadir_status cuda_take(cuda_engine *engine, nadir_context *context, const char *what, double bytes,
                       void **block)
{
    double all;
    while (!cuda_take_spare(engine, bytes, block)) {
        if (engine->made != NULL) {
            cuda_columns_drop(engine, engine->made);
            continue;
        }
        const double room = room_left(engine, &all);
        return engine->host->fail(
            context, NADIR_ERROR_MEMORY,
            "%s needs %.4g GiB of the device's memory; %.4g GiB of %.4g GiB are left there", what,
            bytes / gibibyte, (room > 0 ? room : 0) / gibibyte, all / gibibyte);
    }
    return NADIR_OK;
}

bool cuda_fits(const cuda_engine *engine, double bytes)
{
    double all;
    return bytes <= room_left(engine, &all);
}

void cuda_give(cuda_engine *engine, double bytes, void *block)
{
    if (block != NULL) {
        (void)cudaFree(block);
        engine->used -= bytes;
    }
}

nadir_status cuda_reserve(cuda_engine *engine, nadir_context *context, int64_t numbers)
{
    nadir_status status = NADIR_OK;
    void *made = NULL;
    if (numbers <= engine->capacity) {
        return NADIR_OK;
    }
    cuda_give(engine, (double)engine->capacity * sizeof(double), engine->vectors);
    engine->vectors = NULL;
    engine->capacity = 0;
    CUDA_CHECK(cuda_take(engine, context, "room for vectors", (double)numbers * sizeof(double), &made));
    engine->vectors = (double *)made;
    engine->capacity = numbers;
cleanup:
    return status;
}

static nadir_status refuse(const nadir_engine_host *host, nadir_context *context, const char *why)
{
    return host->fail(context, NADIR_ERROR_UNSUPPORTED, "the engine cuda has no device to work on: %s", why);
}

/* A number of the environment; `otherwise` where it says none. */
static double said(const char *name, double otherwise)
{
    const char *text = getenv(name);
    const double given = text != NULL ? strtod(text, NULL) : 0;
    return given > 0 && given <= 1e18 ? given : otherwise;
}

/* Everything that lasts as long as the engine. */
static nadir_status prepare(cuda_engine *engine, nadir_context *context)
{
    nadir_status status = NADIR_OK;
    void *made = NULL;
    engine->limit = said("NADIR_DEVICE_MEMORY", 1e300);
    engine->block = (int64_t)said("NADIR_DEVICE_BLOCK", 0);
    CUDA_TRY(engine, context, cudaFree(NULL)); /* the device starts now, not in the midst of work */
    CUDA_LIBRARY(engine, context, cublasCreate(&engine->blas));
    CUDA_LIBRARY(engine, context, cusolverDnCreate(&engine->solver));
    CUDA_LIBRARY(engine, context, cusolverDnCreateParams(&engine->parameters));
    CUDA_CHECK(cuda_take(engine, context, "room for sums", CUDA_SUMS * CUDA_PARTIALS * (double)sizeof(double),
                         &made));
    engine->partials = (double *)made;
cleanup:
    return status;
}

static void close(cuda_engine *engine)
{
    cuda_give(engine, (double)engine->capacity * sizeof(double), engine->vectors);
    cuda_give(engine, CUDA_SUMS * CUDA_PARTIALS * (double)sizeof(double), engine->partials);
    if (engine->parameters != NULL) {
        (void)cusolverDnDestroyParams(engine->parameters);
    }
    if (engine->solver != NULL) {
        (void)cusolverDnDestroy(engine->solver);
    }
    if (engine->blas != NULL) {
        (void)cublasDestroy(engine->blas);
    }
    const double used = engine->used; /* models may be freed later */
    cuda_columns *made = engine->made;
    memset(engine, 0, sizeof *engine);
    engine->used = used;
    engine->made = made;
}

static nadir_status start(const nadir_engine_host *host, nadir_context *context, const char *options,
                          const nadir_communication **table, void **self)
{
    cuda_engine *engine = &the_engine;
    nadir_status status = NADIR_OK;
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        return refuse(host, context, code != cudaSuccess ? cudaGetErrorString(code) : "there is none");
    }
    int major = 0;
    int minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
        10 * major + minor < NADIR_CUDA_ARCHITECTURE) {
        return refuse(host, context, "it is older than those that the engine was built for");
    }
    if (options[0] != '\0') {
        return host->fail(context, NADIR_ERROR_ARGUMENT, "the engine cuda takes no options; found '%.80s'",
                          options);
    }
    engine->host = host;
    if (engine->opened == 0) {
        status = prepare(engine, context);
    }
    if (status != NADIR_OK) {
        close(engine);
        return status;
    }
    engine->opened++;
    *table = host->alone;
    *self = engine;
    return NADIR_OK;
}

static int32_t neighbours(const void *self)
{
    (void)self;
    return 1;
}

static void finish(void *self, int exit_status, const char *sentence)
{
    cuda_engine *engine = (cuda_engine *)self;
    (void)exit_status;
    (void)sentence;
    engine->opened--;
    if (engine->opened == 0) {
        close(engine);
    }
}

static void memory(const void *self, double *taken, double *left)
{
    const cuda_engine *engine = (const cuda_engine *)self;
    double all;
    *taken = engine->used;
    *left = room_left(engine, &all);
}

static const nadir_device device = {
    .memory = memory,
    .rows_upload = cuda_keep,
    .rows_free = cuda_drop,
    .rows_multiply = cuda_multiply,
    .rows_minimum = cuda_minimum,
    .sort_descending = cuda_order,
    .average = cuda_average,
    .average_perturbed = cuda_average_values,
    .perturbed_upload = cuda_put,
    .perturbed_free = cuda_forget,
    .perturbed_download = cuda_bring,
    .matrix_upload = cuda_upload,
    .matrix_free = cuda_release,
    .matrix_download = cuda_fetch,
    .tail_download = cuda_fetch_lines,
    .tail_roundings = cuda_lines_roundings,
    .matrix_combine = cuda_combine,
    .matrix_longest_column = cuda_longest_transposed,
    .matrix_sums = cuda_look,
    .lu_factor = cuda_factor,
    .lu_solve = cuda_solve,
    .lu_free = cuda_release_factors,
    .lmo_create = cuda_step_open,
    .lmo_free = cuda_step_close,
    .lmo_solve = cuda_step_answer,
    .lmo_gains = cuda_step_gains,
    .lmo_kernel = cuda_step_values,
    .lmo_slack = cuda_step_slack,
    .lmo_centred_product = cuda_step_centred,
    .bicgstab_solve = cuda_iterate,
    .bicgstab_solve_many = cuda_iterate_many,
    .gstd_upload = cuda_vector_keep,
    .gstd_free = cuda_vector_drop,
    .gstd_ranks = cuda_vector_ranks,
    .gstd_powers = cuda_vector_powers,
    .vec_alloc = cuda_room_take,
    .vec_free = cuda_room_give,
    .vec_copy = cuda_room_copy,
    .vec_dots = cuda_room_dots,
    .vec_add = cuda_room_add,
    .vec_scale = cuda_room_scale,
    .vec_weigh = cuda_room_weigh,
    .vec_rotate = cuda_room_rotate,
    .policy_returns = cuda_returns,
};

extern "C" __attribute__((visibility("default"))) const nadir_engine_table nadir_engine_entry;

const nadir_engine_table nadir_engine_entry = {
    .version = NADIR_ENGINE_VERSION,
    .name = "cuda",
    .start = start,
    .neighbours = neighbours,
    .finish = finish,
    .setup = NULL,
    .solve = NULL,
    .destroy = NULL,
    .device = &device,
};
