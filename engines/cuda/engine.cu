/*
 * engine.cu: the engine of one NVIDIA device; see core/engine.h and core/device.h.
 * All work goes to the default stream. NADIR_DEVICE_MEMORY, in bytes, makes the device smaller than it is, to
 * try out what a model would need. NADIR_DEVICE_BLOCK, in columns: see cuda_engine.block.
 */
#include "engine.h"

#include <cstring>

static const double gibibyte = 1024.0 * 1024 * 1024;

static cuda_engine the_engine; /* of this process */
static cuda_pool workspace;
static cuda_pool partials;

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
static double bytes_left(const cuda_engine *engine, double *all)
{
    size_t left = 0;
    size_t total = 0;
    (void)cudaMemGetInfo(&left, &total);
    const double allowed = engine->limit - engine->used;
    *all = engine->limit < (double)total ? engine->limit : (double)total;
    return allowed < (double)left ? allowed : (double)left;
}

bool cuda_fits(const cuda_engine *engine, double bytes)
{
    double all;
    return bytes <= bytes_left(engine, &all);
}

/* An array of a pool. */
typedef struct cuda_array {
    struct cuda_array *next;
    double bytes;
    void *data;
} cuda_array;

bool cuda_take_spare(cuda_pool *pool, double bytes, void **array)
{
    cuda_engine *engine = pool->engine;
    cuda_array *made = (cuda_array *)malloc(sizeof *made);
    if (made != NULL && cuda_fits(engine, bytes) &&
        cudaMalloc(&made->data, bytes > 0 ? (size_t)bytes : 1) == cudaSuccess) {
        made->bytes = bytes;
        made->next = pool->first;
        pool->first = made;
        pool->bytes += bytes;
        engine->used += bytes;
        *array = made->data;
        return true;
    }
    (void)cudaGetLastError();
    free(made);
    return false;
}

nadir_status cuda_take(cuda_pool *pool, nadir_context *context, double bytes, void **array)
{
    cuda_engine *engine = pool->engine;
    double all;
    while (!cuda_take_spare(pool, bytes, array)) {
        if (engine->droppable != NULL) {
            cuda_column_blocks_drop(engine, engine->droppable);
            continue;
        }
        const double left = bytes_left(engine, &all);
        return engine->host->fail(
            context, NADIR_ERROR_MEMORY,
            "%s needs %.4g GiB of the device's memory; %.4g GiB of %.4g GiB are left there", pool->what,
            bytes / gibibyte, (left > 0 ? left : 0) / gibibyte, all / gibibyte);
    }
    return NADIR_OK;
}

void cuda_pool_free(cuda_pool *pool)
{
    while (pool->first != NULL) {
        cuda_array *array = pool->first;
        pool->first = array->next;
        pool->engine->used -= array->bytes;
        (void)cudaFree(array->data);
        free(array);
    }
    pool->bytes = 0;
}

nadir_status cuda_reserve(cuda_engine *engine, nadir_context *context, int64_t numbers)
{
    if (numbers <= engine->capacity) {
        return NADIR_OK;
    }
    cuda_pool_free(&workspace);
    engine->capacity = 0;
    workspace = {engine, "room for vectors"};
    const nadir_status status = cuda_new(&workspace, context, numbers, &engine->workspace);
    engine->capacity = status == NADIR_OK ? numbers : 0;
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
    partials = {engine, "room for sums"};
    engine->limit = said("NADIR_DEVICE_MEMORY", 1e300);
    engine->block = (int64_t)said("NADIR_DEVICE_BLOCK", 0);
    CUDA_TRY(engine, context, cudaFree(NULL)); /* the device starts now, not in the midst of work */
    CUDA_LIBRARY(engine, context, cublasCreate(&engine->blas));
    CUDA_LIBRARY(engine, context, cusolverDnCreate(&engine->solver));
    CUDA_LIBRARY(engine, context, cusolverDnCreateParams(&engine->parameters));
    CUDA_CHECK(cuda_new(&partials, context, CUDA_SUMS * CUDA_PARTIALS, &engine->partials));
cleanup:
    return status;
}

static void close(cuda_engine *engine)
{
    cuda_pool_free(&workspace);
    cuda_pool_free(&partials);
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
    cuda_column_blocks *droppable = engine->droppable;
    memset(engine, 0, sizeof *engine);
    engine->used = used;
    engine->droppable = droppable;
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
    *left = bytes_left(engine, &all);
}

static nadir_device device;

static void fill_table(void)
{
    device.memory = memory;
    cuda_average_enter(&device);
    cuda_bicgstab_enter(&device);
    cuda_gstd_enter(&device);
    cuda_lmo_enter(&device);
    cuda_lu_enter(&device);
    cuda_matrix_sums_enter(&device);
    cuda_perturbed_enter(&device);
    cuda_products_enter(&device);
    cuda_returns_enter(&device);
    cuda_rows_enter(&device);
    cuda_tail_enter(&device);
    cuda_vec_enter(&device);
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
    fill_table();
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
