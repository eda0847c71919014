"""From a run to the noise, batches and values behind it: by inverting the updates of the reference, or by replays."""
