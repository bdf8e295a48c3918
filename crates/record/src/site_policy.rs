//! One rule of a site policy.

use jiff::Timestamp;

use crate::Text;

record! {
    "One rule of a site's policy: what counts as backfill, who owns a machine, which machines are left out, what GPU models are called and worth. A policy is all rows of a cluster with one valid_from. It applies until the next one, and the first one also before."
    pub struct SitePolicy in "site_policy" key [valid_from, rule] sort [valid_from, rule] moment valid_from observed stored_time {
        valid_from: Timestamp, "UTC", "From when on the policy applies.";
        rule: i64, "", "The position in the policy. Of several rules of one kind that match, the first applies. Row 0 is of the policy as a whole.";
        kind: Text, "", "backfill_partition, backfill_qos, institution_owned, researcher_owned, mask, class, device or hidden_family; policy in row 0.";
        pattern: Option<Text>, "", "The partition, QOS, slot class or family; of machines and models a name, a pattern with * and ?, or a regular expression between slashes.";
        value: Option<Text>, "", "Of a mask its reason, of a class the site's name for it, of a device its name in reports; in row 0 the origin: configuration, or the tool that it was imported from.";
        family: Option<Text>, "", "The family of a device.";
        tier: Option<Text>, "", "The tier of a device: flagship or standard.";
        weight: Option<f64>, "", "How much one device is worth.";
        memory_gb: Option<f64>, "GB", "The memory of a device, where the scheduler does not report it.";
        hidden: Option<bool>, "", "Whether reports leave the device out.";
        stored_time: Timestamp, "UTC", "When the policy was stored.";
    }
}

impl SitePolicy {
    /// The kind of row 0, which every policy has: one without any rule is a policy, too.
    pub const WHOLE: &str = "policy";
}
