/*
 * npy_items.c: the items of NumPy arrays, converted piece by piece to what the caller wants, with its checks;
 * see npy.h.
 */
#include "io/npy.h"
#include "io/text_reader.h"

#include <math.h>
#include <string.h>

/* ---- Numbers ----------------------------------------------------------------------------------------- */

#define PIECE       NADIR_NPY_PIECE
#define BLOCK_BYTES ((size_t)1 << 20)

struct nadir_npy_piece {
    unsigned char raw[PIECE * sizeof(double)];
    double doubles[PIECE];
    int64_t integers[PIECE];
};

/* Whether items could be converted. */
typedef enum conversion { FINE, TOO_LARGE, NOT_WHOLE } conversion;

static nadir_status items_fail(const nadir_npy *npy, int64_t item, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: item %lld %s", npy->source.name, (long long)item,
                      what);
}

/* Reads the bytes of the next items; in blocks, so that the source can report progress. */
static nadir_status read_bytes(nadir_npy *npy, void *into, int64_t items)
{
    nadir_status status = NADIR_OK;
    const size_t size = (size_t)(items * npy->header.type.item_bytes);
    for (size_t done = 0; done < size;) {
        const size_t block = size - done < BLOCK_BYTES ? size - done : BLOCK_BYTES;
        size_t got;
        NADIR_CHECK(npy->source.read(npy->source.user, (char *)into + done, block, &got));
        done += got;
        if (got < block) {
            return items_fail(npy, npy->taken + (int64_t)done / npy->header.type.item_bytes,
                              "is missing: the data end there");
        }
    }
    npy->taken += items;
cleanup:
    return status;
}

static nadir_status make_room(nadir_npy *npy)
{
    nadir_status status = NADIR_OK;
    if (npy->piece == NULL) {
        NADIR_NEW(npy->context, npy->piece, 1);
    }
cleanup:
    return status;
}

/* The bits of an item in this machine's byte order. */
static uint64_t load_bits(const nadir_npy_type *type, const unsigned char *item)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (type->item_bytes) { /* copies of a known size are single instructions */
    case 1:
        return item[0];
    case 2:
        memcpy(&two, item, sizeof two);
        return type->swapped ? __builtin_bswap16(two) : two;
    case 4:
        memcpy(&four, item, sizeof four);
        return type->swapped ? __builtin_bswap32(four) : four;
    default:
        memcpy(&eight, item, sizeof eight);
        return type->swapped ? __builtin_bswap64(eight) : eight;
    }
}

static double load_float(const nadir_npy_type *type, const unsigned char *item)
{
    const uint64_t bits = load_bits(type, item);
    const uint32_t low = (uint32_t)bits;
    float single;
    double value;
    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return type->item_bytes == sizeof single ? (double)single : value;
}

static conversion load_integer(const nadir_npy_type *type, const unsigned char *item, int64_t *value)
{
    if (type->kind == NADIR_NPY_FLOAT) {
        const double limit = 9223372036854775808.0; /* 2^63 */
        const double real = load_float(type, item);
        const bool fits = real >= -limit && real < limit;
        if (!fits || real != trunc(real)) {
            return fits || isnan(real) ? NOT_WHOLE : TOO_LARGE;
        }
        *value = (int64_t)real;
        return FINE;
    }
    const uint64_t bits = load_bits(type, item);
    if (type->kind == NADIR_NPY_SIGNED) { /* the sign of a narrow item fills the upper bits */
        const uint64_t sign = UINT64_C(1) << (8 * type->item_bytes - 1);
        *value = (int64_t)((bits ^ sign) - sign);
        return FINE;
    }
    *value = type->kind == NADIR_NPY_BOOL ? bits != 0 : (int64_t)bits;
    return bits > INT64_MAX ? TOO_LARGE : FINE;
}

static conversion load_double(const nadir_npy_type *type, const unsigned char *item, double *value)
{
    if (type->kind == NADIR_NPY_FLOAT) {
        *value = load_float(type, item);
        return FINE;
    }
    int64_t whole;
    const conversion found = load_integer(type, item, &whole);
    *value = (double)whole;
    return found;
}

/* Items that are `stride` bytes apart as doubles or as integers; the other array is NULL. *bad is the first that
 * does not fit. The tests are the same for all items, so that they are predicted. */
static conversion convert(const nadir_npy_type *type, int64_t count, const unsigned char *items,
                          int64_t stride, double *doubles, int64_t *integers, int64_t *bad)
{
    conversion found = FINE;
    for (int64_t i = 0; i < count && found == FINE; i++) {
        found = doubles != NULL ? load_double(type, items + i * stride, &doubles[i])
                                : load_integer(type, items + i * stride, &integers[i]);
        *bad = i;
    }
    return found;
}

static nadir_status conversion_fail(const nadir_npy *npy, conversion found, int64_t item)
{
    return items_fail(npy, item,
                      found == NOT_WHOLE ? "is no whole number; expected integers"
                                         : "is out of range for an integer");
}

static nadir_status check_numbers(const nadir_npy *npy)
{
    if (npy->header.type.kind >= NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds text; expected numbers",
                          npy->source.name);
    }
    return NADIR_OK;
}

/* Whether items need no conversion at all. */
static bool is_plain(const nadir_npy_type *type, nadir_npy_kind kind, size_t size)
{
    return type->kind == kind && type->item_bytes == (int64_t)size && !type->swapped;
}

/* The next items into doubles or integers, [count]; the other is NULL. */
static nadir_status read_numbers(nadir_npy *npy, int64_t count, double *doubles, int64_t *integers)
{
    nadir_status status = NADIR_OK;
    const nadir_npy_type *type = &npy->header.type;
    NADIR_CHECK(check_numbers(npy));
    if (is_plain(type, doubles != NULL ? NADIR_NPY_FLOAT : NADIR_NPY_SIGNED, 8)) {
        return read_bytes(npy, doubles != NULL ? (void *)doubles : (void *)integers, count);
    }
    NADIR_CHECK(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t first = npy->taken;
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        int64_t bad = 0;
        NADIR_CHECK(read_bytes(npy, npy->piece->raw, part));
        const conversion found =
            convert(type, part, npy->piece->raw, type->item_bytes, doubles != NULL ? doubles + done : NULL,
                    integers != NULL ? integers + done : NULL, &bad);
        if (found != FINE) {
            return conversion_fail(npy, found, first + bad);
        }
    }
cleanup:
    return status;
}

nadir_status nadir_npy_int64s(nadir_npy *npy, int64_t count, int64_t *into)
{
    return read_numbers(npy, count, NULL, into);
}

nadir_status nadir_npy_int32s(nadir_npy *npy, int64_t count, int32_t *into)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(check_numbers(npy));
    if (is_plain(&npy->header.type, NADIR_NPY_SIGNED, sizeof *into)) {
        return read_bytes(npy, into, count);
    }
    NADIR_CHECK(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t first = npy->taken;
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        const int64_t *integers = npy->piece->integers;
        NADIR_CHECK(nadir_npy_int64s(npy, part, npy->piece->integers));
        for (int64_t i = 0; i < part; i++) {
            if (integers[i] < INT32_MIN || integers[i] > INT32_MAX) {
                return conversion_fail(npy, TOO_LARGE, first + i);
            }
            into[done + i] = (int32_t)integers[i];
        }
    }
cleanup:
    return status;
}

nadir_status nadir_npy_skip(nadir_npy *npy, int64_t count)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(check_numbers(npy)); /* a piece has room for numbers */
    if (count >= PIECE && npy->source.skip != NULL &&
        npy->source.skip(npy->source.user, count * npy->header.type.item_bytes)) {
        npy->taken += count;
        return NADIR_OK;
    }
    NADIR_CHECK(make_room(npy));
    for (int64_t left = count; left > 0; left -= PIECE) {
        NADIR_CHECK(read_bytes(npy, npy->piece->raw, left < PIECE ? left : PIECE));
    }
cleanup:
    return status;
}

/* The axes of an array from the one that runs fastest in the file to the slowest. */
typedef struct file_order {
    int axes;
    int64_t sizes[NADIR_NPY_DIMENSIONS];
    int64_t strides[NADIR_NPY_DIMENSIONS]; /* in memory */
} file_order;

/* Where item `index`, counted in the order of the file, goes. */
static int64_t place_of(const file_order *order, int64_t index)
{
    int64_t place = 0;
    for (int i = 0; i < order->axes; i++) {
        place += index % order->sizes[i] * order->strides[i];
        index /= order->sizes[i];
    }
    return place;
}

/* Whether file and memory have the same order. */
static bool is_contiguous(const file_order *order)
{
    int64_t expected = 1;
    for (int i = 0; i < order->axes; i++) {
        if (order->sizes[i] != 1 && order->strides[i] != expected) {
            return false;
        }
        expected *= order->sizes[i];
    }
    return true;
}

/* The next `count` items, of which the first is number `first` of the slice; run by run of the fastest axis. */
static nadir_status place_items(nadir_npy *npy, const file_order *order, int64_t first, int64_t count,
                                double *into)
{
    nadir_status status = NADIR_OK;
    NADIR_CHECK(make_room(npy));
    for (int64_t done = 0; done < count; done += PIECE) {
        const int64_t part = count - done < PIECE ? count - done : PIECE;
        const double *items = npy->piece->doubles;
        NADIR_CHECK(read_numbers(npy, part, npy->piece->doubles, NULL));
        for (int64_t i = 0; i < part;) {
            const int64_t index = first + done + i;
            const int64_t run_left = order->sizes[0] - index % order->sizes[0];
            const int64_t run = part - i < run_left ? part - i : run_left;
            double *to = into + place_of(order, index);
            for (int64_t k = 0; k < run; k++) {
                to[k * order->strides[0]] = items[i + k];
            }
            i += run;
        }
    }
cleanup:
    return status;
}

nadir_status nadir_npy_place(nadir_npy *npy, const nadir_npy_slice *slice, const int64_t *strides,
                             double *into)
{
    nadir_status status = NADIR_OK;
    nadir_npy_header kept = npy->header;
    file_order order = {.axes = kept.dimensions};
    int64_t block = kept.count; /* items of the slice that stand side by side */
    int64_t before = 0;         /* items that are passed over before each block, and after it */
    int64_t after = 0;
    int64_t blocks = 1;
    if (slice != NULL && kept.count > 0 && slice->count < kept.shape[slice->axis]) {
        int64_t inner = 1;
        for (int i = 0; i < kept.dimensions; i++) {
            const bool faster = kept.fortran ? i < slice->axis : i > slice->axis;
            inner *= faster ? kept.shape[i] : 1;
        }
        const int64_t size = kept.shape[slice->axis];
        blocks = kept.count / (inner * size);
        block = inner * slice->count;
        before = inner * slice->first;
        after = inner * (size - slice->first - slice->count);
        kept.shape[slice->axis] = slice->count;
    }
    int64_t c_stride = 1;
    for (int axis = kept.dimensions - 1; axis >= 0; axis--) {
        const int place = kept.fortran ? axis : kept.dimensions - 1 - axis;
        order.sizes[place] = kept.shape[axis];
        order.strides[place] = strides != NULL ? strides[axis] : c_stride;
        c_stride *= kept.shape[axis];
    }
    const bool contiguous = is_contiguous(&order);
    for (int64_t i = 0; i < blocks && block > 0; i++) {
        NADIR_CHECK(nadir_npy_skip(npy, i > 0 ? after + before : before));
        NADIR_CHECK(contiguous ? read_numbers(npy, block, into + i * block, NULL)
                               : place_items(npy, &order, i * block, block, into));
    }
cleanup:
    return status;
}

nadir_status nadir_npy_finish(nadir_npy *npy)
{
    char more;
    size_t got;
    const nadir_status status = npy->source.read(npy->source.user, &more, 1, &got);
    if (status == NADIR_OK && got > 0) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds more data than it declares",
                          npy->source.name);
    }
    return status;
}

nadir_status nadir_npy_field_numbers(nadir_npy *npy, const nadir_npy_field *field, int64_t first,
                                     int64_t count, const unsigned char *items, int64_t stride,
                                     double *doubles, int64_t *integers)
{
    int64_t bad = 0;
    const conversion found = convert(&field->type, count, items, stride, doubles, integers, &bad);
    if (found == FINE) {
        return NADIR_OK;
    }
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: record %lld: `%s` is %s", npy->source.name,
                      (long long)(first + bad), field->name,
                      found == NOT_WHOLE ? "no whole number" : "out of range for an integer");
}

/* ---- Text -------------------------------------------------------------------------------------------- */

/*
 * Items have a fixed length and are padded with zeros: characters of four bytes (UTF-32), or bytes, which
 * must then be UTF-8.
 */

static nadir_status text_fail(const nadir_npy *npy, const char *what)
{
    return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: text %lld %s", npy->source.name,
                      (long long)npy->taken, what);
}

/* The characters of an item, without the padding. */
static size_t text_length(const nadir_npy *npy, const unsigned char *raw, size_t width)
{
    size_t bytes = (size_t)npy->header.type.item_bytes;
    while (bytes > 0 && raw[bytes - 1] == 0) {
        bytes--;
    }
    return (bytes + width - 1) / width;
}

/* One item of UTF-32 to UTF-8 in text, which has as many bytes; *used is its length. */
static nadir_status encode(const nadir_npy *npy, const unsigned char *raw, char *text, size_t *used)
{
    const nadir_npy_type type = {NADIR_NPY_UNSIGNED, 4, npy->header.type.swapped};
    const size_t length = text_length(npy, raw, 4);
    *used = 0;
    for (size_t i = 0; i < length; i++) {
        const size_t bytes = nadir_utf8_encode((uint32_t)load_bits(&type, raw + 4 * i), text + *used);
        if (bytes == 0) {
            return text_fail(npy, "holds something that is no character");
        }
        *used += bytes;
    }
    return NADIR_OK;
}

nadir_status nadir_npy_names(nadir_npy *npy, nadir_names *names)
{
    nadir_status status = NADIR_OK;
    unsigned char *raw = NULL;
    char *text = NULL;
    const size_t size = (size_t)npy->header.type.item_bytes;
    if (npy->header.type.kind < NADIR_NPY_TEXT) {
        return nadir_fail(npy->context, NADIR_ERROR_FORMAT, "%s: holds numbers; expected text",
                          npy->source.name);
    }
    NADIR_NEW(npy->context, raw, size);
    NADIR_NEW(npy->context, text, size);
    for (npy->taken = 0; npy->taken < npy->header.count; npy->taken++) {
        size_t used;
        NADIR_CHECK(npy->source.read(npy->source.user, raw, size, &used));
        if (used < size) {
            status = text_fail(npy, "is missing: the data end there");
            goto cleanup;
        }
        if (npy->header.type.kind == NADIR_NPY_TEXT) {
            NADIR_CHECK(encode(npy, raw, text, &used));
        } else {
            used = text_length(npy, raw, 1);
            memcpy(text, raw, used);
        }
        if (!nadir_utf8_is_valid(text, used)) {
            status = text_fail(npy, "is not UTF-8, or has a zero inside");
            goto cleanup;
        }
        NADIR_CHECK(nadir_names_add(npy->context, names, text, used));
    }
cleanup:
    nadir_release(npy->context, raw);
    nadir_release(npy->context, text);
    return status;
}
