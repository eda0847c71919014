(** An explicit family of data sets that attains the corrected sensitivities of x, z and y for every step size, with
    the huberized hinge that is shipped. For every eta > 1 it violates the bounds that [CL20] prints. *)

From Coq Require Import Reals Lra Lia.
From DPADMM Require Import Vectors Algorithm InnerProduct Gradients Epoch SoftThreshold.
Open Scope R_scope.

(** c times the first unit vector; n copies of C e_1; the same with record 0 replaced by -C e_1. *)
Definition axis (c : R) : vector := fun i => if Nat.eqb i 0 then c else 0.
Definition equal_records (C : R) : nat -> vector := fun _ => axis C.
Definition one_replaced (C : R) : nat -> vector := fun r => if Nat.eqb r 0 then axis (- C) else axis C.
(** x = z = 0 and y = Y e_1. *)
Definition start (Y : R) : state reals := State reals (fun _ => 0) (fun _ => 0) (axis Y).

Definition gradient (h : R) (p n : nat) (D : nat -> vector) (Y : R) : vector :=
  huber_mean_gradient reals h p n D (state_x reals (start Y)).
Definition new_x (h : R) (p n : nat) (rho eta : R) (D : nat -> vector) (Y : R) : vector :=
  step_x reals rho eta (gradient h p n D Y) (start Y).
Definition new_z (h lam : R) (p n : nat) (rho eta : R) (D : nat -> vector) (Y : R) : vector :=
  fun i => update_z reals (prox_l1 reals lam) (new_x h p n rho eta D Y i) (state_y reals (start Y) i) rho.
Definition new_y (h lam : R) (p n : nat) (rho eta : R) (D : nat -> vector) (Y : R) : vector :=
  step_y reals rho (new_x h p n rho eta D Y) (new_z h lam p n rho eta D Y) (start Y).

Lemma norm_axis p c : (0 < p)%nat -> norm p (axis c) = Rabs c.
Proof.
  intros Hp. unfold norm, sq, dot. rewrite (sum_single p 0 _ Hp).
  - unfold axis; simpl. apply sqrt_Rsqr_abs.
  - intros i _ Hi. unfold axis. destruct (Nat.eqb_spec i 0); [contradiction|ring].
Qed.

Lemma records_adjacent n C : (0 < n)%nat -> neighbours n 0 (equal_records C) (one_replaced C).
Proof.
  intros Hn. split; [exact Hn|]. intros i _ Hi. unfold equal_records, one_replaced.
  destruct (Nat.eqb_spec i 0); [contradiction|reflexivity].
Qed.

Lemma records_short p C r : (0 < p)%nat -> 0 <= C ->
  norm p (equal_records C r) <= C /\ norm p (one_replaced C r) <= C.
Proof.
  intros Hp HC. unfold equal_records, one_replaced.
  destruct (Nat.eqb r 0); rewrite !norm_axis, ?Rabs_Ropp, Rabs_right by (assumption || lra); lra.
Qed.

(** At x = 0 every margin is 0, the slope is -1, and a record's gradient is minus the record. *)
Lemma gradient_at_zero h p n D Y i : 0 < h <= 1 ->
  gradient h p n D Y i = mean reals n (fun r k => - D r k) i.
Proof.
  intros Hh. unfold gradient, huber_mean_gradient. rewrite !mean_real. f_equal. apply sum_ext. intros r _.
  unfold huber_gradient. cbn [state_x start mul reals].
  rewrite total_real, (sum_ext p _ (fun _ => 0)) by (intros; ring). rewrite sum_zero, huber_slope_real.
  rewrite Rmax_left, Rmin_right by lra. field. lra.
Qed.

(** Settles: SENS-GRADIENT. The gradients differ by exactly 2C/n, along e_1. *)
Lemma gradients_differ h p n C Y i : 0 < h <= 1 -> (0 < n)%nat ->
  gradient h p n (equal_records C) Y i - gradient h p n (one_replaced C) Y i = axis (- (2 * C / INR n)) i.
Proof.
  intros Hh Hn. assert (0 < INR n) by (apply lt_0_INR, Hn).
  rewrite !gradient_at_zero by exact Hh.
  rewrite (mean_one_term n 0 (fun r k => - equal_records C r k) (fun r k => - one_replaced C r k) i Hn).
  - unfold equal_records, one_replaced, axis; simpl. destruct (Nat.eqb i 0); field; lra.
  - intros r _ Hr. unfold equal_records, one_replaced. destruct (Nat.eqb_spec r 0); [contradiction|reflexivity].
Qed.

Section Family.
Variables (h C rho eta : R) (p n : nat).
Hypothesis loss : 0 < h <= 1.
Hypothesis C_positive : 0 < C.
Hypothesis rho_positive : 0 < rho.
Hypothesis eta_positive : 0 < eta.
Hypothesis some_coordinate : (0 < p)%nat.
Hypothesis some_record : (0 < n)%nat.
Let D := equal_records C.
Let D' := one_replaced C.
Let s := eta / (1 + eta * rho).

Lemma s_positive : 0 < s.
Proof. apply Rdiv_lt_0_compat; nra. Qed.

Lemma x_differs Y i : diff (new_x h p n rho eta D Y) (new_x h p n rho eta D' Y) i = axis (s * (2 * C / INR n)) i.
Proof.
  unfold diff, new_x. rewrite x_moves_exactly by assumption. unfold D, D'.
  rewrite gradients_differ by assumption. unfold axis. destruct (Nat.eqb i 0); unfold s; ring.
Qed.

Lemma bound_positive : 0 < s * (2 * C / INR n).
Proof.
  assert (0 < INR n) by (apply lt_0_INR, some_record). pose proof s_positive.
  apply Rmult_lt_0_compat; [assumption|apply Rdiv_lt_0_compat; lra].
Qed.

Lemma bound_is : s * (2 * C / INR n) = 2 * C * eta / (INR n * (1 + eta * rho)).
Proof. assert (0 < INR n) by (apply lt_0_INR, some_record). unfold s. field. split; nra. Qed.

(** Settles: SENS-X. The corrected bound of x is attained, at every step size and for every start of y. *)
Theorem x_attained Y :
  norm p (diff (new_x h p n rho eta D Y) (new_x h p n rho eta D' Y)) = 2 * C * eta / (INR n * (1 + eta * rho)).
Proof.
  rewrite (norm_ext p _ _ (fun i _ => x_differs Y i)), norm_axis by exact some_coordinate.
  pose proof bound_positive. rewrite Rabs_right by lra. apply bound_is.
Qed.

(** The first coordinate of x + y/rho, for either data set, lies within s C of Y/(rho (1+eta rho)). *)
Lemma argument_near (E : nat -> vector) Y i : E = D \/ E = D' ->
  let w := new_x h p n rho eta E Y i + axis Y i / rho in
  axis (Y / (rho * (1 + eta * rho)) - s * C) i <= w <= axis (Y / (rho * (1 + eta * rho)) + s * C) i.
Proof.
  intros HE. cbv zeta. assert (Hn : 0 < INR n) by (apply lt_0_INR, some_record). pose proof s_positive as Hs.
  assert (Hg : axis (- C) i <= gradient h p n E Y i <= axis C i).
  { rewrite gradient_at_zero, mean_real by exact loss.
    assert (Hr : forall r, axis (- C) i <= - E r i <= axis C i).
    { intros r. destruct HE as [->| ->]; unfold D, D', equal_records, one_replaced, axis;
        destruct (Nat.eqb r 0), (Nat.eqb i 0); lra. }
    split; apply Rmult_le_reg_r with (INR n); try exact Hn; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra;
      rewrite Rmult_1_r, Rmult_comm, <- sum_const; apply sum_le; intros; apply Hr. }
  unfold new_x, step_x. rewrite update_x_real. cbn [state_x state_z state_y start].
  replace ((- gradient h p n E Y i - axis Y i + rho * 0 + 0 / eta) / (rho + 1 / eta) + axis Y i / rho)
    with (axis Y i / (rho * (1 + eta * rho)) - s * gradient h p n E Y i)
    by (unfold s; field; repeat split; nra).
  unfold axis in *. destruct (Nat.eqb i 0).
  - split; nra.
  - assert (gradient h p n E Y i = 0) as -> by lra. unfold Rdiv. rewrite Rmult_0_l. lra.
Qed.

Lemma new_z_is E lam Y i : new_z h lam p n rho eta E Y i
  = soft_threshold reals (new_x h p n rho eta E Y i + axis Y i / rho) (lam / rho).
Proof. reflexivity. Qed.

Lemma z_same_as_x lam : 0 <= lam -> exists Y, forall i,
  diff (new_z h lam p n rho eta D Y) (new_z h lam p n rho eta D' Y) i
  = diff (new_x h p n rho eta D Y) (new_x h p n rho eta D' Y) i.
Proof.
  intros Hl. set (Y := (rho * (1 + eta * rho)) * (lam / rho + s * C + 1)). exists Y.
  assert (HY : Y / (rho * (1 + eta * rho)) = lam / rho + s * C + 1) by (unfold Y; field; split; nra).
  assert (Ht : 0 <= lam / rho) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  intros i. unfold diff. rewrite !new_z_is.
  pose proof (argument_near D Y i (or_introl eq_refl)) as H1.
  pose proof (argument_near D' Y i (or_intror eq_refl)) as H2.
  cbv zeta in H1, H2. rewrite HY in H1, H2.
  destruct (soft_threshold_cases (new_x h p n rho eta D Y i + axis Y i / rho) (lam / rho) Ht) as (A & _ & B).
  destruct (soft_threshold_cases (new_x h p n rho eta D' Y i + axis Y i / rho) (lam / rho) Ht) as (A' & _ & B').
  unfold axis in *. destruct (Nat.eqb_spec i 0) as [Hi|Hi].
  - rewrite A, A' by lra. ring.
  - rewrite B, B' by lra. unfold Rdiv in *. rewrite Rmult_0_l in *. lra.
Qed.

(** Settles: SENS-Z. For every lambda some start of y attains the bound of z: both arguments beyond the threshold. *)
Theorem z_attained lam : 0 <= lam -> exists Y,
  norm p (diff (new_z h lam p n rho eta D Y) (new_z h lam p n rho eta D' Y)) = 2 * C * eta / (INR n * (1 + eta * rho)).
Proof.
  intros Hl. destruct (z_same_as_x lam Hl) as [Y E]. exists Y.
  rewrite (norm_ext p _ _ (fun i _ => E i)). apply x_attained.
Qed.

Lemma z_stays_zero lam E i : rho * (eta / (1 + eta * rho)) * C <= lam -> E = D \/ E = D' ->
  new_z h lam p n rho eta E 0 i = 0.
Proof.
  intros Hl HE. fold s in Hl. pose proof s_positive as Hs.
  assert (Ht : s * C <= lam / rho).
  { apply Rmult_le_reg_r with rho; [exact rho_positive|].
    replace (lam / rho * rho) with lam by (field; lra). lra. }
  rewrite new_z_is. pose proof (argument_near E 0 i HE) as H. cbv zeta in H.
  destruct (soft_threshold_cases (new_x h p n rho eta E 0 i + axis 0 i / rho) (lam / rho)) as (_ & _ & B); [nra|].
  apply B. unfold axis in *. unfold Rdiv at 1 3 in H. rewrite !Rmult_0_l in H. destruct (Nat.eqb i 0); nra.
Qed.

(** Settles: SENS-Y. Where lambda is large enough z stays 0, and y moves rho times as far as x. *)
Theorem y_attained lam : rho * (eta / (1 + eta * rho)) * C <= lam ->
  norm p (diff (new_y h lam p n rho eta D 0) (new_y h lam p n rho eta D' 0))
  = rho * (2 * C * eta / (INR n * (1 + eta * rho))).
Proof.
  intros Hl.
  rewrite <- (x_attained 0), <- norm_scale by lra. apply norm_ext. intros i _.
  unfold diff at 1, new_y, step_y, update_y. cbn [add sub mul reals].
  rewrite (z_stays_zero lam D), (z_stays_zero lam D') by auto. unfold diff. ring.
Qed.

(** Settles: JOINT. Both ends are attained: (dx, dz, dy) = (dx, dx, 0) and (dx, 0, rho dx). *)
Theorem joint_attained_without_threshold lam : 0 <= lam -> exists Y,
  let dx := diff (new_x h p n rho eta D Y) (new_x h p n rho eta D' Y) in
  let dz := diff (new_z h lam p n rho eta D Y) (new_z h lam p n rho eta D' Y) in
  let dy := diff (new_y h lam p n rho eta D Y) (new_y h lam p n rho eta D' Y) in
  sq p dx + sq p dz + sq p dy = (1 + 1) * (2 * C * eta / (INR n * (1 + eta * rho))) ^ 2.
Proof.
  intros Hl. destruct (z_same_as_x lam Hl) as [Y E]. exists Y. cbv zeta.
  rewrite (sq_ext p _ _ (fun i _ => E i)).
  rewrite (sq_ext p (diff (new_y _ _ _ _ _ _ _ _) _) (fun _ => 0)).
  - rewrite <- !norm_squared, x_attained. unfold norm at 1 2, sq, dot.
    rewrite (sum_ext p _ (fun _ => 0)) by (intros; ring). rewrite sum_zero, sqrt_0. ring.
  - intros i _. specialize (E i). unfold diff in E |- *. unfold new_y, step_y, update_y. cbn [add sub mul reals]. nra.
Qed.

Theorem joint_attained_below_threshold lam : rho * (eta / (1 + eta * rho)) * C <= lam ->
  let dx := diff (new_x h p n rho eta D 0) (new_x h p n rho eta D' 0) in
  let dz := diff (new_z h lam p n rho eta D 0) (new_z h lam p n rho eta D' 0) in
  let dy := diff (new_y h lam p n rho eta D 0) (new_y h lam p n rho eta D' 0) in
  sq p dx + sq p dz + sq p dy = (1 + rho ^ 2) * (2 * C * eta / (INR n * (1 + eta * rho))) ^ 2.
Proof.
  intros Hl. cbv zeta. rewrite <- (norm_squared p (diff (new_y _ _ _ _ _ _ _ _) _)), y_attained by exact Hl.
  rewrite <- (norm_squared p (diff (new_x _ _ _ _ _ _ _) _)), x_attained.
  rewrite (sq_ext p (diff (new_z _ _ _ _ _ _ _ _) _) (fun _ => 0)).
  - unfold sq, dot. rewrite (sum_ext p _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. ring.
  - intros i _. unfold diff. rewrite !z_stays_zero by auto. ring.
Qed.

(** Settles: E2. A bound that contains a smaller, later step size is violated as well. *)
Theorem later_step_refuted later Y : 0 < later < eta ->
  2 * C * later / (INR n * (1 + later * rho))
  < norm p (diff (new_x h p n rho eta D Y) (new_x h p n rho eta D' Y)).
Proof.
  intros Hl. rewrite x_attained. assert (Hn : 0 < INR n) by (apply lt_0_INR, some_record).
  replace (2 * C * later / (INR n * (1 + later * rho))) with (2 * C / INR n * (later / (1 + later * rho)))
    by (field; split; nra).
  replace (2 * C * eta / (INR n * (1 + eta * rho))) with (2 * C / INR n * (eta / (1 + eta * rho)))
    by (field; split; nra).
  apply Rmult_lt_compat_l; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_lt_reg_r with ((1 + later * rho) * (1 + eta * rho)); [apply Rmult_lt_0_compat; nra|].
  replace (later / (1 + later * rho) * ((1 + later * rho) * (1 + eta * rho))) with (later * (1 + eta * rho)) by (field; nra).
  replace (eta / (1 + eta * rho) * ((1 + later * rho) * (1 + eta * rho))) with (eta * (1 + later * rho)) by (field; nra).
  nra.
Qed.

Lemma printed_is_smaller : 1 < eta -> 2 * C / (INR n * (1 + eta * rho)) < 2 * C * eta / (INR n * (1 + eta * rho)).
Proof.
  intros He. assert (0 < INR n) by (apply lt_0_INR, some_record).
  unfold Rdiv. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, Rmult_lt_0_compat; nra|nra].
Qed.
End Family.

(** The printed bounds are false for EVERY eta > 1, in every dimension, for every number of records. *)

(** Settles: SENS-X-PRINTED, E1, THEOREM-3. *)
Theorem printed_x_refuted (h C rho eta : R) (p n : nat) :
  0 < h <= 1 -> 0 < C -> 0 < rho -> 1 < eta -> (0 < p)%nat -> (0 < n)%nat ->
  exists (D D' : nat -> vector) (j : nat) (old : state reals),
    neighbours n j D D' /\ (forall r, norm p (D r) <= C /\ norm p (D' r) <= C) /\
    2 * C / (INR n * (1 + eta * rho))
    < norm p (diff (step_x reals rho eta (huber_mean_gradient reals h p n D (state_x reals old)) old)
                   (step_x reals rho eta (huber_mean_gradient reals h p n D' (state_x reals old)) old)).
Proof.
  intros Hh HC Hr He Hp Hn. exists (equal_records C), (one_replaced C), 0%nat, (start 0).
  split; [apply records_adjacent, Hn|]. split; [intros r; apply records_short; [exact Hp|lra]|].
  pose proof (x_attained h C rho eta p n Hh HC Hr ltac:(lra) Hp Hn 0) as E.
  eapply Rlt_le_trans; [|right; symmetry; exact E]. apply printed_is_smaller; lra || assumption.
Qed.

(** Settles: SENS-Z-PRINTED, E1. *)
Theorem printed_z_refuted (h lam C rho eta : R) (p n : nat) :
  0 < h <= 1 -> 0 <= lam -> 0 < C -> 0 < rho -> 1 < eta -> (0 < p)%nat -> (0 < n)%nat ->
  exists (D D' : nat -> vector) (j : nat) (old : state reals),
    neighbours n j D D' /\ (forall r, norm p (D r) <= C /\ norm p (D' r) <= C) /\
    let x E := step_x reals rho eta (huber_mean_gradient reals h p n E (state_x reals old)) old in
    let z E i := update_z reals (prox_l1 reals lam) (x E i) (state_y reals old i) rho in
    2 * C / (INR n * (1 + eta * rho)) < norm p (diff (z D) (z D')).
Proof.
  intros Hh Hl HC Hr He Hp Hn.
  destruct (z_attained h C rho eta p n Hh HC Hr ltac:(lra) Hp Hn lam Hl) as [Y E].
  exists (equal_records C), (one_replaced C), 0%nat, (start Y).
  split; [apply records_adjacent, Hn|]. split; [intros r; apply records_short; [exact Hp|lra]|].
  eapply Rlt_le_trans; [|right; symmetry; exact E]. apply printed_is_smaller; lra || assumption.
Qed.

(** Settles: SENS-Y-PRINTED, E1. For every lambda that is large enough. *)
Theorem printed_y_refuted (h lam C rho eta : R) (p n : nat) :
  0 < h <= 1 -> rho * (eta / (1 + eta * rho)) * C <= lam -> 0 < C -> 0 < rho -> 1 < eta -> (0 < p)%nat -> (0 < n)%nat ->
  exists (D D' : nat -> vector) (j : nat) (old : state reals),
    neighbours n j D D' /\ (forall r, norm p (D r) <= C /\ norm p (D' r) <= C) /\
    let x E := step_x reals rho eta (huber_mean_gradient reals h p n E (state_x reals old)) old in
    let z E i := update_z reals (prox_l1 reals lam) (x E i) (state_y reals old i) rho in
    let y E := step_y reals rho (x E) (z E) old in
    2 * rho * C / (INR n * (1 + eta * rho)) < norm p (diff (y D) (y D')).
Proof.
  intros Hh Hl HC Hr He Hp Hn.
  pose proof (y_attained h C rho eta p n Hh HC Hr ltac:(lra) Hp Hn lam Hl) as E.
  exists (equal_records C), (one_replaced C), 0%nat, (start 0).
  split; [apply records_adjacent, Hn|]. split; [intros r; apply records_short; [exact Hp|lra]|].
  eapply Rlt_le_trans; [|right; symmetry; exact E].
  replace (2 * rho * C / (INR n * (1 + eta * rho))) with (rho * (2 * C / (INR n * (1 + eta * rho)))).
  - apply Rmult_lt_compat_l; [exact Hr|]. apply printed_is_smaller; lra || assumption.
  - assert (0 < INR n) by (apply lt_0_INR, Hn). field. split; nra.
Qed.

(** Settles: E2, SENS-X-PRINTED. With the step size that the paper prints, that of the next epoch, the bound 2C/(n(1 + eta' rho))
    holds for all data exactly where eta (1 + eta' rho) <= 1 + eta rho; otherwise some neighbours violate it. *)
Theorem printed_with_the_next_step (h C rho eta later : R) (p n : nat) :
  0 < h <= 1 -> 0 < C -> 0 < rho -> 0 < eta -> 0 < later -> (0 < p)%nat -> (0 < n)%nat ->
  (eta * (1 + later * rho) <= 1 + eta * rho <->
   forall (D D' : nat -> vector) (j : nat) (old : state reals),
     neighbours n j D D' -> (forall r, norm p (D r) <= C /\ norm p (D' r) <= C) ->
     let x E := step_x reals rho eta (huber_mean_gradient reals h p n E (state_x reals old)) old in
     norm p (diff (x D) (x D')) <= 2 * C / (INR n * (1 + later * rho))).
Proof.
  intros Hh HC Hr He Hl Hp Hn. assert (Hn' : 0 < INR n) by (apply lt_0_INR, Hn).
  assert (P1 : 0 < 1 + eta * rho) by nra. assert (P2 : 0 < 1 + later * rho) by nra.
  assert (Same : 2 * C * eta / (INR n * (1 + eta * rho)) <= 2 * C / (INR n * (1 + later * rho))
    <-> eta * (1 + later * rho) <= 1 + eta * rho).
  { set (k := 2 * C / (INR n * (1 + eta * rho) * (1 + later * rho))).
    assert (Hk : 0 < k) by (apply Rdiv_lt_0_compat; [lra|apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; assumption]).
    replace (2 * C * eta / (INR n * (1 + eta * rho))) with (k * (eta * (1 + later * rho)))
      by (unfold k; field; repeat split; lra).
    replace (2 * C / (INR n * (1 + later * rho))) with (k * (1 + eta * rho)) by (unfold k; field; repeat split; lra).
    split; intros H; [apply Rmult_le_reg_l in H|apply Rmult_le_compat_l]; lra. }
  split.
  - intros H D D' j old Hadj Hshort x. apply Same in H. eapply Rle_trans; [|exact H].
    set (short := fun d : vector => if Rle_dec (norm p d) C then d else axis 0).
    assert (Short : forall d, norm p (huber_gradient reals h p (short d) (state_x reals old)) <= C).
    { intros d. apply huber_gradient_bound; [lra|]. unfold short. destruct (Rle_dec (norm p d) C); [assumption|].
      rewrite norm_axis, Rabs_R0 by exact Hp. lra. }
    assert (Id : forall E : nat -> vector, (forall r, norm p (E r) <= C) -> forall r, short (E r) = E r).
    { intros E HE r. unfold short. destruct (Rle_dec (norm p (E r)) C) as [|F]; [reflexivity|]. contradiction (F (HE r)). }
    pose proof (x_sensitivity vector (fun d => huber_gradient reals h p (short d)) C p n j D D' rho eta old
                  Hr He (Rlt_le _ _ HC) Short Hadj) as S.
    assert (G : forall E : nat -> vector, (forall r, norm p (E r) <= C) ->
      mean reals n (fun r => huber_gradient reals h p (short (E r)) (state_x reals old))
      = huber_mean_gradient reals h p n E (state_x reals old)).
    { intros E HE. unfold huber_mean_gradient. f_equal. apply FunctionalExtensionality.functional_extensionality.
      intros r. rewrite (Id E HE r). reflexivity. }
    cbv beta in S. rewrite (G D) in S by (intros r; apply (Hshort r)). rewrite (G D') in S by (intros r; apply (Hshort r)). exact S.
  - intros H. apply Same. specialize (H (equal_records C) (one_replaced C) 0%nat (start 0) (records_adjacent n C Hn)
      (fun r => records_short p C r Hp (Rlt_le _ _ HC))). cbv zeta in H.
    pose proof (x_attained h C rho eta p n Hh HC Hr He Hp Hn 0) as E. unfold new_x, gradient in E.
    eapply Rle_trans; [|exact H]. right. symmetry. exact E.
Qed.
