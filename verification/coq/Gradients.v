(** How far a mean gradient moves when one record is replaced: at most 2C/m for a batch of m distinct records, if no
    record's gradient is longer than C. The records may be of any type and the model of any dimension. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct.
Open Scope R_scope.

(** Two data sets of n records that differ in record j at most. *)
Definition neighbours {record : Type} (n j : nat) (D D' : nat -> record) : Prop :=
  (j < n)%nat /\ forall i, (i < n)%nat -> i <> j -> D i = D' i.

(** The positions of m distinct records out of n. *)
Definition batch_of (m n : nat) (B : nat -> nat) : Prop :=
  (forall r, (r < m)%nat -> (B r < n)%nat) /\
  (forall r s, (r < m)%nat -> (s < m)%nat -> B r = B s -> r = s).

(** If the terms of a mean differ in one place only, the means differ by that difference over their number. *)
Lemma mean_one_term (m k : nat) (a b : nat -> nat -> R) i :
  (k < m)%nat -> (forall r, (r < m)%nat -> r <> k -> a r = b r) ->
  mean reals m a i - mean reals m b i = / INR m * (a k i - b k i).
Proof.
  intros Hk H. rewrite !mean_real.
  rewrite <- (sum_single m k (fun r => a r i - b r i) Hk).
  - rewrite sum_minus. unfold Rdiv. ring.
  - intros r Hr Hn. simpl. rewrite (H r Hr Hn). ring.
Qed.

Lemma mean_same (m : nat) (a b : nat -> nat -> R) i :
  (forall r, (r < m)%nat -> a r = b r) -> mean reals m a i = mean reals m b i.
Proof. intros H. rewrite !mean_real. f_equal. apply sum_ext. intros r Hr. rewrite (H r Hr). reflexivity. Qed.

Lemma norm_zero p (u : vector) : (forall i, u i = 0) -> norm p u = 0.
Proof.
  intros H. unfold norm. rewrite (sq_ext p u (fun _ => 0)) by (intros; apply H).
  unfold sq, dot. rewrite (sum_ext p _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. apply sqrt_0.
Qed.

(** Settles: SENS-GRADIENT, THEOREM-1, DPSGD. A batch of m out of n records: 2C/m. *)
Theorem batch_gradient_sensitivity
    (record : Type) (gradient : record -> vector) (C : R) (p m n j : nat) (B : nat -> nat) (D D' : nat -> record) :
  (0 < m)%nat -> 0 <= C -> (forall d, norm p (gradient d) <= C) -> neighbours n j D D' -> batch_of m n B ->
  norm p (fun i => mean reals m (fun r => gradient (D (B r))) i - mean reals m (fun r => gradient (D' (B r))) i)
  <= 2 * C / INR m.
Proof.
  intros Hm HC Hg [Hj HD] [HB Hinj].
  assert (Hm' : 0 < / INR m) by (apply Rinv_0_lt_compat, lt_0_INR, Hm).
  assert (Hcases : (exists k, (k < m)%nat /\ B k = j) \/ (forall r, (r < m)%nat -> B r <> j)).
  { clear Hinj HB Hm Hm'. induction m as [|m IH]; [right; lia|].
    destruct IH as [[k [Hk E]]|Hno]; [left; exists k; split; [lia|exact E]|].
    destruct (Nat.eq_dec (B m) j) as [E|E]; [left; exists m; split; [lia|exact E]|].
    right. intros r Hr. destruct (Nat.eq_dec r m) as [->|]; [exact E|apply Hno; lia]. }
  destruct Hcases as [[k [Hk E]]|Hno].
  - rewrite (norm_ext p _ (fun i => / INR m * (gradient (D (B k)) i - gradient (D' (B k)) i))).
    + rewrite norm_scale by lra.
      pose proof (norm_triangle p (gradient (D (B k))) (gradient (D' (B k)))).
      pose proof (Hg (D (B k))). pose proof (Hg (D' (B k))). unfold Rdiv. rewrite Rmult_comm.
      apply Rmult_le_compat_r; lra.
    + intros i _. apply (mean_one_term m k (fun r => gradient (D (B r))) (fun r => gradient (D' (B r)))); [exact Hk|].
      intros r Hr Hn. rewrite (HD (B r)); [reflexivity|apply HB, Hr|].
      intros F. apply Hn, Hinj; [exact Hr|exact Hk|congruence].
  - rewrite norm_zero; [unfold Rdiv; apply Rmult_le_pos; lra|].
    intros i. apply Rminus_diag_eq, mean_same. intros r Hr. rewrite (HD (B r)); [reflexivity|apply HB, Hr|apply Hno, Hr].
Qed.

(** Settles: SENS-GRADIENT, DPSVRG. All n records: 2C/n. *)
Theorem full_gradient_sensitivity
    (record : Type) (gradient : record -> vector) (C : R) (p n j : nat) (D D' : nat -> record) :
  0 <= C -> (forall d, norm p (gradient d) <= C) -> neighbours n j D D' ->
  norm p (fun i => mean reals n (fun r => gradient (D r)) i - mean reals n (fun r => gradient (D' r)) i)
  <= 2 * C / INR n.
Proof.
  intros HC Hg HD. apply (batch_gradient_sensitivity record gradient C p n n j (fun r => r)); try assumption.
  - destruct HD; lia.
  - split; intros; assumption.
Qed.

(** Settles: DPSVRG. Differences of two gradients, each no longer than C: 4C/m. *)
Theorem gradient_change_sensitivity
    (record : Type) (gradient anchor : record -> vector) (C : R) (p m n j : nat) (B : nat -> nat)
    (D D' : nat -> record) :
  (0 < m)%nat -> 0 <= C -> (forall d, norm p (gradient d) <= C) -> (forall d, norm p (anchor d) <= C) ->
  neighbours n j D D' -> batch_of m n B ->
  norm p (fun i => mean reals m (fun r k => gradient (D (B r)) k - anchor (D (B r)) k) i
                   - mean reals m (fun r k => gradient (D' (B r)) k - anchor (D' (B r)) k) i)
  <= 4 * C / INR m.
Proof.
  intros Hm HC Hg Ha HD HB. replace (4 * C) with (2 * (2 * C)) by ring.
  apply (batch_gradient_sensitivity record (fun d k => gradient d k - anchor d k) (2 * C) p m n j B D D');
    try assumption; [lra|].
  intros d. pose proof (norm_triangle p (gradient d) (anchor d)). pose proof (Hg d). pose proof (Ha d). lra.
Qed.

(** Settles: DPSVRG-MARGIN. If both gradients are multiples of one vector by slopes in [-1, 0], then 2C/m. *)
Theorem margin_gradient_change_sensitivity
    (record : Type) (features : record -> vector) (slope anchor : record -> R) (C : R) (p m n j : nat)
    (B : nat -> nat) (D D' : nat -> record) :
  (0 < m)%nat -> 0 <= C -> (forall d, norm p (features d) <= C) ->
  (forall d, -1 <= slope d <= 0) -> (forall d, -1 <= anchor d <= 0) ->
  neighbours n j D D' -> batch_of m n B ->
  norm p (fun i => mean reals m (fun r k => slope (D (B r)) * features (D (B r)) k
                                            - anchor (D (B r)) * features (D (B r)) k) i
                   - mean reals m (fun r k => slope (D' (B r)) * features (D' (B r)) k
                                              - anchor (D' (B r)) * features (D' (B r)) k) i)
  <= 2 * C / INR m.
Proof.
  intros Hm HC Hf Hs Ha HD HB.
  apply (batch_gradient_sensitivity record (fun d k => slope d * features d k - anchor d * features d k) C p m n j B D D');
    try assumption.
  intros d. apply norm_le; [exact HC|].
  rewrite (sq_ext p _ (fun k => (slope d - anchor d) * features d k)) by (intros; ring).
  rewrite sq_scale, <- norm_squared. pose proof (norm_nonneg p (features d)). pose proof (Hf d).
  pose proof (Hs d). pose proof (Ha d). set (c := slope d - anchor d) in *.
  assert (c * c <= 1) by (unfold c; nra).
  assert (norm p (features d) * norm p (features d) <= C * C) by (apply Rmult_le_compat; lra). nra.
Qed.

(** The slope of the huberized hinge lies in [-1, 0], and is -1 at margin 0. *)
Lemma huber_slope_real (h v : R) :
  huber_slope reals h v = - Rmin (Rmax (1 + h - v) 0) ((1 + 1) * h) / ((1 + 1) * h).
Proof. unfold huber_slope. rewrite minimum_real, maximum_real. reflexivity. Qed.

(** Settles: LOSS-HUBER. *)
Theorem huber_slope_bounds (h v : R) : 0 < h -> -1 <= huber_slope reals h v <= 0.
Proof.
  intros Hh. rewrite huber_slope_real. set (d := Rmin _ _).
  assert (Hd : 0 <= d <= (1 + 1) * h).
  { unfold d. split; [apply Rmin_glb; [apply Rmax_r|lra]|apply Rmin_r]. }
  split; (apply Rmult_le_reg_r with ((1 + 1) * h); [lra|]); unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra.
Qed.

(** Settles: LOSS-HUBER. No record's gradient is longer than its features. *)
Theorem huber_gradient_bound (h C : R) (p : nat) (d x : vector) :
  0 < h -> norm p d <= C -> norm p (huber_gradient reals h p d x) <= C.
Proof.
  intros Hh HC. pose proof (norm_nonneg p d). apply norm_le; [lra|].
  unfold huber_gradient. set (s := huber_slope reals h (total reals p (fun j => mul reals (d j) (x j)))).
  change (sq p (fun i => s * d i) <= C * C). rewrite sq_scale, <- norm_squared.
  assert (Hs : -1 <= s <= 0) by (apply huber_slope_bounds, Hh).
  assert (s * s <= 1) by nra. assert (norm p d * norm p d <= C * C) by (apply Rmult_le_compat; lra). nra.
Qed.

(** Settles: LOSS-LOGISTIC. The slope of the logistic loss lies in [-1, 0] as well. *)
Definition logistic_slope (v : R) : R := - / (1 + exp v).

Theorem logistic_slope_bounds (v : R) : -1 <= logistic_slope v <= 0.
Proof.
  unfold logistic_slope. pose proof (exp_pos v). assert (0 < / (1 + exp v)) by (apply Rinv_0_lt_compat; lra).
  assert (/ (1 + exp v) <= 1); [|lra]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
Qed.

(** Settles: CLIP. A clipped slope times the norm of its record is at most the bound; what was short enough stays. *)
Theorem clipped_slope_bound (slope length bound : R) :
  0 <= length -> 0 <= bound ->
  Rabs (clipped_slope reals slope length bound) * length <= bound /\
  (Rabs slope * length <= bound -> clipped_slope reals slope length bound = slope).
Proof.
  intros Hl Hb. unfold clipped_slope. rewrite absolute_real. cbn [greater reals mul div opp of_nat].
  unfold real_greater. destruct (Rlt_dec bound (Rabs slope * length)) as [H|H]; split; intros; try lra.
  assert (0 < length) by (destruct Hl as [|E]; [assumption|rewrite <- E in H; lra]).
  replace (Rabs _) with (bound / length); [right; field; lra|].
  assert (0 <= bound / length) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  destruct (Rlt_dec _ _); rewrite ?Rabs_Ropp, Rabs_right; lra.
Qed.

(** Settles: CLIP. A clipped gradient is no longer than the bound, in any dimension. *)
Theorem clipped_gradient_bound (p : nat) (slope C : R) (d : vector) :
  0 <= C -> norm p (fun i => clipped_slope reals slope (norm p d) C * d i) <= C.
Proof.
  intros HC. pose proof (norm_nonneg p d) as Hd. apply norm_le; [exact HC|].
  destruct (clipped_slope_bound slope (norm p d) C Hd HC) as [H _].
  set (s := clipped_slope reals slope (norm p d) C) in *. change (sq p (fun i => (s : R) * d i) <= C * C).
  rewrite sq_scale, <- norm_squared. pose proof (Rabs_pos s).
  replace (s * s) with (Rabs s * Rabs s) by (unfold Rabs; destruct (Rcase_abs s); ring).
  replace (Rabs s * Rabs s * (norm p d * norm p d)) with ((Rabs s * norm p d) * (Rabs s * norm p d)) by ring.
  apply Rmult_le_compat; nra.
Qed.
