import { inPackage, stories, test } from "../Mutant.ts"

const memory = "packages/storage-memory/test/contract.test.ts"
const postgres = "packages/storage-pg/test/contract.test.ts"

const ofMemory = inPackage("storage-memory")({
  "MemoryStorage.ts": [
    {
      name: "storage ignores what a change expects",
      from: "this.changedRecord(change) ?? ",
      to: "",
      found_by: stories
    },
    {
      name: "storage ignores the fence of a lease",
      from: "this.lostLease(change) ?? ",
      to: "",
      found_by: test(memory, "refuses a change that finishes a job leased to another claimer, and writes nothing")
    },
    {
      name: "storage takes a version that does not follow",
      from: "!== version - 1) return true",
      to: "> version - 1) return true",
      found_by: test(memory, "accepts version n only after version n - 1")
    },
    {
      name: "a refused change finishes its job",
      from: "    if (refusal !== undefined) return refusal\n\n",
      to: "    if (refusal !== undefined) this.jobs.finish(change.finishes)\n    if (refusal !== undefined) return refusal\n",
      found_by: stories
    }
  ],
  "MemoryJobs.ts": [
    {
      name: "an ordered job beside one that is leased",
      from: "ordered ? leased.size > 0 : ",
      to: "ordered ? false : ",
      found_by: test(memory, "claims ordered jobs of the next due time only after all earlier ordered jobs are done")
    },
    {
      name: "a lane gives one job more than its limit",
      from: "leased.size >= lane.limit",
      to: "leased.size > lane.limit",
      found_by: test(memory, "leases at most as many jobs from a lane as its limit allows, earliest first")
    }
  ],
  "Workspace.ts": [
    {
      name: "a page of the feed leaves out its last event",
      from: "events.length < limit; at++",
      to: "events.length < limit - 1; at++",
      found_by: stories
    },
    {
      name: "erased records stay readable by an older version",
      from: "      erased += this.olderThanNewest(id).length\n      this.older.delete(id)",
      to: "      erased += this.olderThanNewest(id).length",
      found_by: test(memory, "can erase only the older versions of a parent's records")
    }
  ]
})

const ofPostgres = inPackage("storage-pg")({
  "sql/0001_begin/commit_parts.sql": [
    {
      name: "SQL: the fence of a lease is not compared",
      from: "where j.held and j.lease = f.lease",
      to: "where j.held",
      found_by: test(postgres, "refuses a change that finishes a job leased to another claimer, and writes nothing")
    },
    {
      name: "SQL: an expected version is not compared",
      from: "where e.version <> coalesce((\n      select r.version from quotewire.record r\n      where r.workspace_id = workspaces_id[e.workspace]",
      to: "where false and e.version <> coalesce((\n      select r.version from quotewire.record r\n      where r.workspace_id = workspaces_id[e.workspace]",
      found_by: test(postgres, "refuses a change if an expected record has a different version")
    },
    {
      name: "SQL: a refused change leaves a gap in the feed",
      from: "set last_event = w.last_event - n.events,",
      to: "set last_event = w.last_event,",
      found_by: test(postgres, "writes no part of a refused change")
    },
    {
      name: "SQL: a clock moves without its jobs",
      from: "set ready_at = greatest(j.due_at - offset_ms, j.leased_until)",
      to: "set ready_at = j.ready_at",
      found_by: test(
        postgres,
        "moves a workspace's waiting jobs with the workspace's clock, and leaves other workspaces unchanged"
      )
    }
  ],
  "sql/0001_begin/claim_parts.sql": [
    {
      name: "SQL: a lease does not end",
      from: "j.lane = t.name and j.leased_until <= at;",
      to: "j.lane = t.name and j.leased_until <= at - 1;",
      found_by: test(
        postgres,
        "reclaims an ordered job before later jobs when the job's lease has expired or was released"
      )
    },
    {
      name: "SQL: a lane gives more than its limit",
      from: "least(most, l.max_leased - leased.count)",
      to: "least(most, l.max_leased)",
      found_by: test(postgres, "leases at most as many jobs from a lane as its limit allows, earliest first")
    }
  ],
  "sql/0001_begin/erase.sql": [
    {
      name: "SQL: an erasure leaves older versions",
      from: "where v.workspace_id = of_workspace and v.kind = of_kind and v.id = d.id\n  )\n  delete from quotewire.record r",
      to: "where v.workspace_id = of_workspace and v.kind = of_kind and v.id = d.id and v.version < 1\n  )\n  delete from quotewire.record r",
      found_by: test(postgres, "erases every version of one parent's records of one kind, and nothing else")
    },
    {
      name: "SQL: a reset erases in spite of what it expects",
      from: "  if found then\n    return;\n  end if;\n  perform from quotewire.lane",
      to: "  perform from quotewire.lane",
      found_by: test(postgres, "erases a workspace only if every expected record has the expected version")
    }
  ]
})

/** The mutants of both storage backends. */
export const storage = [...ofMemory, ...ofPostgres]
