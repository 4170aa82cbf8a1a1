/* exchange.c: vectors with entries of other processes; see exchange.h. */
#include "linalg/distributed.h"

#include <string.h>

nadir_status nadir_exchange_create(nadir_context *context, int64_t first, int64_t count, int64_t ghosts,
                                   const int64_t *places, nadir_exchange **exchange)
{
    nadir_status status = NADIR_OK;
    const nadir_communication *table = context->communication;
    nadir_exchange *made = NULL;
    NADIR_NEW_ZERO(context, made, 1);
    made->memory = nadir_memory_retain(context->memory);
    made->table = table;
    made->first = first;
    made->count = count;
    made->ghosts = ghosts;
    NADIR_NEW(context, made->places, ghosts);
    if (ghosts > 0) {
        memcpy(made->places, places, (size_t)ghosts * sizeof *places);
    }
    NADIR_CHECK(table->plan(table->self, context, first, count, ghosts, places, &made->plan));
    if (table->buffer(table->self, made->plan) == NULL) {
        NADIR_NEW(context, made->buffer, count + ghosts);
    }
    const nadir_reduction operations[] = {NADIR_REDUCE_SUM, NADIR_REDUCE_MAXIMUM};
    double sizes[] = {(double)count, (double)count};
    table->reduce_few(table->self, 2, operations, sizes);
    made->total = (int64_t)sizes[0];
    made->largest = (int64_t)sizes[1];
    made->whole = ghosts == made->total - count;
    *exchange = made;
    made = NULL;
cleanup:
    nadir_exchange_free(made);
    return status;
}

void nadir_exchange_free(nadir_exchange *exchange)
{
    if (exchange != NULL) {
        nadir_memory *memory = exchange->memory;
        exchange->table->release(exchange->table->self, exchange->plan);
        nadir_memory_release(memory, exchange->places);
        nadir_memory_release(memory, exchange->buffer);
        nadir_memory_release(memory, exchange);
        nadir_memory_free(memory);
    }
}

double *nadir_exchange_buffer(const nadir_exchange *exchange)
{
    return exchange->buffer != NULL ? exchange->buffer
                                    : exchange->table->buffer(exchange->table->self, exchange->plan);
}

/* Where all others are ghosts, columns are places but for the own ones, which come first: `all` as it is, or
 * in three pieces. */
static const double *arrange(const nadir_exchange *exchange, const double *all, double *buffer)
{
    const size_t unit = sizeof *buffer;
    const int64_t first = exchange->first;
    const int64_t n = exchange->count;
    const int64_t above = exchange->total - first - n;
    if (first == 0) {
        return all;
    }
    memcpy(buffer, all + first, (size_t)n * unit);
    memcpy(buffer + n, all, (size_t)first * unit);
    if (above > 0) {
        memcpy(buffer + n + first, all + first + n, (size_t)above * unit);
    }
    return buffer;
}

const double *nadir_exchange_extend(const nadir_exchange *exchange, const double *x)
{
    if (exchange == NULL) {
        return x;
    }
    const nadir_communication *table = exchange->table;
    double *buffer = nadir_exchange_buffer(exchange);
    const double *all = exchange->whole ? table->publish(table->self, exchange->plan, x) : NULL;
    if (all != NULL) {
        return arrange(exchange, all, buffer);
    }
    memcpy(buffer, x, (size_t)exchange->count * sizeof *x);
    nadir_exchange_fill(exchange, buffer);
    return buffer;
}

int nadir_exchange_pieces(const nadir_exchange *exchange, const double *x,
                          nadir_exchange_piece pieces[NADIR_EXCHANGE_PIECES])
{
    const nadir_communication *table = exchange->table;
    const int64_t first = exchange->first;
    const int64_t end = first + exchange->count;
    const double *all = exchange->whole ? table->publish(table->self, exchange->plan, x) : NULL;
    pieces[0] = (nadir_exchange_piece){exchange->count, x};
    if (all != NULL) {
        pieces[1] = (nadir_exchange_piece){first, all};
        pieces[2] = (nadir_exchange_piece){exchange->total - end, all + end};
        return 3;
    }
    double *ghosts = nadir_exchange_buffer(exchange) + exchange->count;
    table->fetch(table->self, exchange->plan, x, ghosts);
    pieces[1] = (nadir_exchange_piece){exchange->ghosts, ghosts};
    return 2;
}

void nadir_exchange_fill(const nadir_exchange *exchange, double *x)
{
    if (exchange != NULL) {
        exchange->table->fetch(exchange->table->self, exchange->plan, x, x + exchange->count);
    }
}

int64_t nadir_exchange_column(const nadir_exchange *exchange, int64_t place)
{
    if (place >= exchange->first && place < exchange->first + exchange->count) {
        return place - exchange->first;
    }
    int64_t low = 0;
    int64_t high = exchange->ghosts;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (exchange->places[middle] < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < exchange->ghosts && exchange->places[low] == place ? exchange->count + low : -1;
}
