/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-decode.h"

#include <errno.h>

#include "dpif.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "tcb-action.h"
#include "tcb-match.h"
#include "tcb-offload.h"
#include "timeval.h"
#include "util.h"

void
tcb_decode_report(const struct tcb_flow_report *report, struct dpif_flow *f)
{
    memset(f, 0, sizeof *f);
    f->ufid = report->ufid;
    f->ufid_present = true;
    f->pmd_id = PMD_ID_NULL;
    f->stats.n_packets = report->packets;
    f->stats.n_bytes = report->bytes;
    f->stats.used = report->used;
    f->attrs.offloaded = report->offloaded;
    /* dpctl's "type=tc" and udpif compare this string, udpif keeps the
     * pointer. */
    f->attrs.dp_layer = "tc";
}

static void
put_key_and_mask(const struct match *match, struct ofpbuf *buf,
                 struct tcb_decoded *d)
{
    struct odp_flow_key_parms parms = {
        .flow = &match->flow,
        .mask = &match->wc.masks,
        .support = {
            .max_vlan_headers = 2,
            .max_mpls_depth = 2,
            .recirc = true,
            .ct_state = true,
            .ct_zone = true,
            .ct_mark = true,
            .ct_label = true,
        },
    };
    struct ofpbuf key;

    /* The mask is made with the key at hand, so the key must not move. */
    ofpbuf_init(&key, sizeof(struct odputil_keybuf));
    odp_flow_key_from_flow(&parms, &key);
    d->key_ofs = buf->size;
    d->key_len = key.size;
    ofpbuf_put(buf, key.data, key.size);

    parms.key_buf = &key;
    d->mask_ofs = buf->size;
    odp_flow_key_from_mask(&parms, buf);
    d->mask_len = buf->size - d->mask_ofs;
    ofpbuf_uninit(&key);
}

int
tcb_decode_filter(const struct tcb_offload *offload, odp_port_t in_port,
                  const struct tcnl_filter_info *info, struct ofpbuf *buf,
                  struct tcb_decoded *d)
{
    struct tcnl_actions actions;
    struct tcnl_flower flower;
    struct match match;
    int error;

    if (!info->acts) {
        return EOPNOTSUPP;
    }
    error = tcnl_filter_parse_flower(info, &flower);
    if (!error) {
        error = tcnl_actions_parse(info->acts, &actions);
    }
    if (!error) {
        error = tcb_match_from_flower(&flower, info->id.chain, in_port,
                                      &match);
    }
    if (error) {
        return error;
    }

    put_key_and_mask(&match, buf, d);
    d->actions_ofs = buf->size;
    error = tcb_actions_from_tc(offload, &actions, buf);
    d->actions_len = buf->size - d->actions_ofs;
    return error;
}

struct reading {
    struct tcb_offload *offload;
    odp_port_t in_port;
    struct ofpbuf *buf;
    struct tcb_decoded *decoded;
    bool ok;
};

static void
read_message(void *reading_, unsigned int slot OVS_UNUSED,
             const struct nlmsghdr *nlh)
{
    struct reading *r = reading_;
    struct tcnl_filter_info info;

    r->ok = !tcnl_filter_parse(nlh, &info)
            && !tcb_decode_filter(r->offload, r->in_port, &info, r->buf,
                                  r->decoded);
}

static int
build_get(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_get(b, id);
}

static void
ask(struct tcb_offload *offload, const struct tcb_flow *flow,
    struct reading *reading)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);
    struct tcb_worker *worker = tcb_worker_get(&offload->workers);

    if (worker) {
        tcnl_transact(worker->transport, build_get, &id, read_message,
                      reading, NULL);
        tcb_worker_put(&offload->workers, worker, NULL);
    }
}

bool
tcb_decode_message(struct tcb_offload *offload, const struct tcb_flow *flow,
                   odp_port_t in_port, const struct nlmsghdr *nlh,
                   struct ofpbuf *buf, struct tcb_decoded *decoded)
{
    struct reading reading = {
        .offload = offload,
        .in_port = nlh ? in_port : flow->in_port,
        .buf = buf,
        .decoded = decoded,
    };

    if (nlh) {
        read_message(&reading, 0, nlh);
    } else {
        ask(offload, flow, &reading);
    }
    return reading.ok;
}

void
tcb_decode_point(const struct ofpbuf *buf, const struct tcb_decoded *d,
                 struct dpif_flow *f)
{
    f->key = ofpbuf_at(buf, d->key_ofs, 0);
    f->key_len = d->key_len;
    f->mask = ofpbuf_at(buf, d->mask_ofs, 0);
    f->mask_len = d->mask_len;
    f->actions = ofpbuf_at(buf, d->actions_ofs, 0);
    f->actions_len = d->actions_len;
}

static void
free_buf(struct ofpbuf *buf)
{
    ofpbuf_delete(buf);
}

void
tcb_decode_get(struct tcb_offload *offload, struct tcb_flow *flow,
               const struct tcnl_filter_info *info, uint64_t epoch,
               struct dpif_op *op)
{
    struct tcnl_filter_counters counters;
    struct tcb_flow_report report;
    struct tcb_decoded decoded;
    struct ofpbuf *buf;

    if (tcnl_actions_parse_counters(info->acts, &counters)
        || !tcb_flow_update(&offload->flows, flow, &counters, info->cls_flags,
                            epoch, time_msec(), &report)
        || !ovs_u128_equals(report.ufid, *op->flow_get.ufid)) {
        return;
    }

    buf = ofpbuf_new(1024);
    ovsrcu_postpone(free_buf, buf);
    if (!tcb_decode_filter(offload, flow->in_port, info, buf, &decoded)) {
        tcb_decode_report(&report, op->flow_get.flow);
        tcb_decode_point(buf, &decoded, op->flow_get.flow);
        op->error = 0;
    }
}
