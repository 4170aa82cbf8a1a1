/* exchange.c: vectors with entries of other processes; see exchange.h. */
#include "linalg/exchange.h"

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
    NADIR_NEW(context, made->room, count + ghosts);
    if (ghosts > 0) {
        memcpy(made->places, places, (size_t)ghosts * sizeof *places);
    }
    NADIR_CHECK(table->plan(table->self, context, first, count, ghosts, places, &made->plan));
    const nadir_reduction operations[] = {NADIR_REDUCE_SUM, NADIR_REDUCE_MAXIMUM};
    double sizes[] = {(double)count, (double)count};
    table->reduce_few(table->self, 2, operations, sizes);
    made->total = (int64_t)sizes[0];
    made->largest = (int64_t)sizes[1];
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
        nadir_memory_release(memory, exchange->room);
        nadir_memory_release(memory, exchange);
        nadir_memory_free(memory);
    }
}

const double *nadir_exchange_extend(const nadir_exchange *exchange, const double *x)
{
    if (exchange == NULL) {
        return x;
    }
    memcpy(exchange->room, x, (size_t)exchange->count * sizeof *x);
    nadir_exchange_fill(exchange, exchange->room);
    return exchange->room;
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
