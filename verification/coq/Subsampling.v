(* A step on a uniform batch of m of n records is a mixture, over randomness that both data sets share, of steps in
   which only one record matters. Hence privacy is amplified: eps becomes ln(1 + q (e^eps - 1)) and delta becomes q
   delta, with q = m/n. *)

From Coq Require Import Reals Lra List Lia Permutation.
From DPADMM Require Import Integral HockeyStick Batches.
Import ListNotations.
Open Scope R_scope.

(* With probability q the law a, else the law c. *)
Definition mix {X} (q : R) (c a : X -> R) : X -> R := fun x => (1 - q) * c x + q * a x.

Lemma intg_mix {X} (I : integral X) q c a : intg I c -> intg I a -> intg I (mix q c a).
Proof. intros; unfold mix; now apply intg_lin. Qed.

(** Settles: SUBSAMPLING, D. Advanced joint convexity, for one record that is drawn with probability q. *)
Theorem advanced_joint_convexity :
  forall {X : Type} (I : integral X) (q y : R) (c a a' : X -> R),
  0 <= q <= 1 -> 1 <= y -> intg I c -> intg I a -> intg I a' ->
  let b := (1 + q * (y - 1)) / y in
  hockey I (1 + q * (y - 1)) (mix q c a) (mix q c a')
  <= q * ((1 - b) * hockey I y a c + b * hockey I y a a').
Proof.
  intros X I q y c a a' Hq Hy Hc Ha Ha' b.
  assert (Hb : 0 <= b) by (apply Rmult_le_pos; [ nra | left; apply Rinv_0_lt_compat; lra ]).
  assert (H1b : 1 - b = (1 - q) * (y - 1) / y) by (unfold b; field; lra).
  assert (Hb1 : 0 <= 1 - b) by (rewrite H1b; apply Rmult_le_pos; [ nra | left; apply Rinv_0_lt_compat; lra ]).
  unfold hockey. rewrite <- (int_lin _ I), <- int_scal;
    [ | apply intg_lin; now apply intg_hockey | now apply intg_hockey.. ].
  apply int_le; [ apply intg_hockey; now apply intg_mix | apply intg_scal, intg_lin; now apply intg_hockey | ].
  intro x. unfold mix.
  replace (_ - _) with (q * ((1 - b) * (a x - y * c x) + b * (a x - y * a' x))).
  - rewrite pos_scale by lra. apply Rmult_le_compat_l; [ lra | ].
    rewrite <- !pos_scale by assumption. apply pos_add.
  - unfold b. field. lra.
Qed.

Lemma hockey_ext {X} (I : integral X) y p q p' q' : intg I p -> intg I q ->
  (forall x, p x = p' x) -> (forall x, q x = q' x) -> hockey I y p q = hockey I y p' q'.
Proof. intros Hp Hq E E'. apply int_ext; [ now apply intg_hockey | ]. intro x; now rewrite E, E'. Qed.

(* The density of a mechanism mu that is given a uniform batch of size m. *)
Definition on_batch {A X} (m : nat) (l : list A) (mu : list A -> X -> R) : X -> R :=
  fun x => batch_mean m l (fun b => mu b x).

Lemma intg_on_batch {A X} (I : integral X) m (l : list A) mu : (forall b, intg I (mu b)) -> intg I (on_batch m l mu).
Proof. intro H. apply intg_scal. apply (intg_sum I (fun b : list A * list A => mu (fst b))). auto. Qed.

(** Settles: SUBSAMPLING, TRIPLES. A step on a batch of size m + 1 of the records s :: l, against the same with s'
    in place of s, is at most the worst of the pairs (1-q) mu(B'+j) + q mu(B'+s) against
    (1-q) mu(B'+j) + q mu(B'+s'). *)
Theorem batch_reduces_to_triple :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list A -> X -> R) (y D : R),
  (m < length l)%nat -> (forall b, intg I (mu b)) ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall B rest j, In (B, rest) (splits m l) -> In j rest ->
     hockey I y (mix q (mu (j :: B)) (mu (s :: B))) (mix q (mu (j :: B)) (mu (s' :: B))) <= D) ->
  hockey I y (on_batch (S m) (s :: l) mu) (on_batch (S m) (s' :: l) mu) <= D.
Proof.
  intros A X I m s s' l mu y D Hm Hmu Perm q HD.
  set (inner := fun (r : A) (b : list A * list A) (j : A) => mix q (mu (j :: fst b)) (mu (r :: fst b))).
  set (middle := fun (r : A) (b : list A * list A) (x : X) =>
    lsum (fun j => / INR (length (snd b)) * inner r b j x) (snd b)).
  set (outer := fun (r : A) (x : X) => lsum (fun b => / count m l * middle r b x) (splits m l)).
  assert (Hi : forall r b j, intg I (inner r b j)) by (intros; now apply intg_mix).
  assert (Hmid : forall r b, intg I (middle r b))
    by (intros r b; apply (intg_sum I (fun j x => / INR (length (snd b)) * inner r b j x));
        intros; now apply intg_scal).
  assert (E : forall r x, on_batch (S m) (r :: l) mu x = outer r x).
  { intros r x. unfold on_batch. rewrite exchange_coupling by (assumption || intros; now apply Perm).
    fold q. unfold outer, middle. rewrite lsum_scal. f_equal.
    apply lsum_ext; intros b _. rewrite lsum_scal. reflexivity. }
  rewrite (hockey_ext I y _ _ (outer s) (outer s')) by auto using intg_on_batch.
  assert (Hc : 0 < count m l) by (apply count_pos; lia).
  eapply Rle_trans.
  - apply (hockey_jointly_convex I y (fun _ => / count m l) (middle s) (middle s')).
    intros b _; repeat split; auto. left; now apply Rinv_0_lt_compat.
  - apply Rle_trans with (lsum (fun _ => / count m l * D) (splits m l)).
    + apply lsum_le; intros (B, rest) Hb. apply Rmult_le_compat_l; [ left; now apply Rinv_0_lt_compat | ].
      pose proof (splits_length _ _ _ Hb) as Hlen; simpl in Hlen.
      assert (HN : 0 < INR (length rest)) by (apply lt_0_INR; lia).
      eapply Rle_trans.
      * apply (hockey_jointly_convex I y (fun _ => / INR (length rest)) (inner s (B, rest)) (inner s' (B, rest))).
        intros j _; repeat split; auto. left; now apply Rinv_0_lt_compat.
      * apply Rle_trans with (lsum (fun _ => / INR (length rest) * D) rest).
        -- apply lsum_le; intros j Hj. apply Rmult_le_compat_l; [ left; now apply Rinv_0_lt_compat | ].
        now apply HD with rest.
        -- rewrite lsum_const. right; field; lra.
    + rewrite lsum_const. fold (count m l). right; field; lra.
Qed.

Lemma splits_all {A} (l : list A) : splits (length l) l = [(l, [])].
Proof.
  assert (Z : forall (l : list A) k, (length l < k)%nat -> splits k l = []).
  { intros l' k H. destruct (splits k l') as [ | t r ] eqn:E; [ reflexivity | ].
    assert (Ht : In t (splits k l')) by (rewrite E; now left). apply splits_length in Ht; lia. }
  induction l as [ | a l IH ]; [ reflexivity | ]. cbn [length splits]. rewrite IH, Z by lia. reflexivity.
Qed.

(** Settles: SUBSAMPLING, D. Amplification by subsampling without replacement: if exchanging one record of a batch
    costs at most delta at e^eps = y, then exchanging one record of the data costs at most q delta at
    1 + q (y - 1), with q = (batch size)/(number of records). *)
Theorem amplification_without_replacement :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list A -> X -> R) (y delta : R),
  (m <= length l)%nat -> 1 <= y -> (forall b, intg I (mu b)) ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) ->
  (forall a a' B, length B = m -> hockey I y (mu (a :: B)) (mu (a' :: B)) <= delta) ->
  let q := INR (S m) / INR (S (length l)) in
  hockey I (1 + q * (y - 1)) (on_batch (S m) (s :: l) mu) (on_batch (S m) (s' :: l) mu) <= q * delta.
Proof.
  intros A X I m s s' l mu y delta Hm Hy Hmu Perm Hbase q.
  assert (HS : 0 < INR (S m)) by (apply lt_0_INR; lia). assert (HN : 0 < INR (S (length l))) by (apply lt_0_INR; lia).
  assert (Hq : 0 <= q <= 1).
  { split; [ apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ] | ].
    apply Rmult_le_reg_r with (INR (S (length l))); [ assumption | ]. unfold q, Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply le_INR; lia. }
  destruct (Nat.eq_dec m (length l)) as [ Em | ].
  - assert (q = 1) as -> by (unfold q; rewrite Em; field; rewrite <- Em; lra).
    replace (1 + 1 * (y - 1)) with y by ring. rewrite Rmult_1_l.
    assert (E : forall r x, on_batch (S m) (r :: l) mu x = mu (r :: l) x).
    { intros r x. unfold on_batch, batch_mean, count.
      replace (S m) with (length (r :: l)) by (simpl; lia). rewrite splits_all. simpl. field. }
    rewrite (hockey_ext I y _ _ (mu (s :: l)) (mu (s' :: l))) by auto using intg_on_batch. now apply Hbase.
  - apply batch_reduces_to_triple; auto; [ lia | ]. fold q. intros B rest j HB Hj.
    apply splits_length in HB; simpl in HB.
    eapply Rle_trans; [ apply advanced_joint_convexity; auto | ].
    apply Rmult_le_compat_l; [ lra | ]. set (b := (1 + q * (y - 1)) / y).
    assert (0 <= b) by (apply Rmult_le_pos; [ nra | left; apply Rinv_0_lt_compat; lra ]).
    assert (1 - b = (1 - q) * (y - 1) / y) by (unfold b; field; lra).
    assert (0 <= 1 - b) by (rewrite H0; apply Rmult_le_pos; [ nra | left; apply Rinv_0_lt_compat; lra ]).
    pose proof (Hbase s j B ltac:(lia)). pose proof (Hbase s s' B ltac:(lia)).
    replace delta with ((1 - b) * delta + b * delta) by ring.
    apply Rplus_le_compat; apply Rmult_le_compat_l; assumption.
Qed.

Lemma int_on_batch {A X} (I : integral X) m (l : list A) mu : (m <= length l)%nat ->
  (forall b, intg I (mu b) /\ int I (mu b) = 1) -> int I (on_batch m l mu) = 1.
Proof.
  intros Hm H. unfold on_batch, batch_mean. pose proof (count_pos m l Hm).
  rewrite int_scal by (apply (intg_sum I (fun b : list A * list A => mu (fst b))); intros; apply H).
  rewrite (int_sum I (fun b : list A * list A => mu (fst b))) by (intros; apply H).
  rewrite (lsum_ext _ (fun _ => 1)) by (intros; apply H). rewrite lsum_const. fold (count m l). field; lra.
Qed.

(** Settles: SUBSAMPLING, D. The profile of one step, on both sides of 1: if h bounds one exchanged record of a batch at
    every y >= 1, the step has H_y <= q h(1 + (y-1)/q) for y >= 1 and H_y <= 1 - y + y q h(1 + (1/y-1)/q) for y < 1. *)
Theorem subsampled_profile :
  forall {A X : Type} (I : integral X) (m : nat) (s s' : A) (l : list A) (mu : list A -> X -> R) (h : R -> R),
  (m <= length l)%nat -> (forall b, intg I (mu b) /\ int I (mu b) = 1) ->
  (forall b b' x, Permutation b b' -> mu b x = mu b' x) ->
  (forall y a a' B, 1 <= y -> length B = m -> hockey I y (mu (a :: B)) (mu (a' :: B)) <= h y) ->
  let q := INR (S m) / INR (S (length l)) in
  (forall y, 1 <= y ->
     hockey I y (on_batch (S m) (s :: l) mu) (on_batch (S m) (s' :: l) mu) <= q * h (1 + (y - 1) / q)) /\
  (forall y, 0 < y < 1 ->
     hockey I y (on_batch (S m) (s :: l) mu) (on_batch (S m) (s' :: l) mu) <= 1 - y + y *
       (q * h (1 + (1 / y - 1) / q))).
Proof.
  intros A X I m s s' l mu h Hm Hmu Perm Hh q.
  assert (Hq : 0 < q) by (apply Rdiv_lt_0_compat; apply lt_0_INR; lia).
  assert (Up : forall r r' y, 1 <= y ->
    hockey I y (on_batch (S m) (r :: l) mu) (on_batch (S m) (r' :: l) mu) <= q * h (1 + (y - 1) / q)).
  { intros r r' y Hy. replace y with (1 + q * (1 + (y - 1) / q - 1)) at 1 by (field; lra).
    apply amplification_without_replacement; auto; try (intros; apply Hmu).
    - apply Rplus_le_reg_l with (-1). ring_simplify. apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ].
    - intros a a' B HB. apply Hh; [ | assumption ].
      apply Rplus_le_reg_l with (-1). ring_simplify. apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]. }
  split; [ intros; now apply Up | ]. intros y Hy.
  rewrite hockey_reversal;
    [ | lra | apply intg_on_batch; apply Hmu | apply intg_on_batch; apply Hmu
      | apply int_on_batch; simpl; auto; lia | apply int_on_batch; simpl; auto; lia ].
  apply Rplus_le_compat_l, Rmult_le_compat_l; [ lra | ]. apply Up.
  apply Rmult_le_reg_r with y; [ lra | ]. replace (1 / y * y) with 1 by (field; lra). lra.
Qed.
