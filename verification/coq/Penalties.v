(** The regularizers that ship, but for the nuclear norm, as one type: their proximal maps, the parameters that the
    reference admits, and how far x, z and y move together in an epoch of Algorithm 2. With these the end-to-end theorems
    assume nothing about a proximal map. *)

From Coq Require Import Reals Lra Lia List Permutation.
From DPADMM Require Import Vectors Algorithm InnerProduct SoftThreshold Epoch Folded Integral ModelPerturbation.
Import ListNotations.
Open Scope R_scope.

(** reference/regularizers. *)
Inductive penalty :=
  | no_penalty
  | l1 (lam : R)
  | elastic_net (lam r : R)
  | scad (lam a : R)
  | mcp (lam gamma : R)
  | group_l1 (lam : R) (groups : list (list nat)).

Definition prox_of (h : penalty) : vector -> R -> vector :=
  match h with
  | no_penalty => coordinatewise reals (prox_none reals)
  | l1 lam => coordinatewise reals (prox_l1 reals lam)
  | elastic_net lam r => coordinatewise reals (prox_elastic_net reals lam r)
  | scad lam a => coordinatewise reals (prox_scad reals lam a)
  | mcp lam gamma => coordinatewise reals (prox_mcp reals lam gamma)
  | group_l1 lam groups => prox_group reals real_length lam groups
  end.

(** What the reference refuses is not admitted: weights below 0, folds that jump, groups that overlap. *)
Definition admitted (p : nat) (rho : R) (h : penalty) : Prop :=
  match h with
  | no_penalty => True
  | l1 lam => 0 <= lam
  | elastic_net lam r => 0 <= lam /\ 0 <= r <= 1
  | scad lam a => 0 <= lam /\ 1 + 1 / rho < a
  | mcp lam gamma => 0 <= lam /\ 1 / rho < gamma
  | group_l1 lam groups => 0 <= lam /\ NoDup (concat groups) /\ forall i, In i (concat groups) -> (i < p)%nat
  end.

(** The Lipschitz constant of the proximal map, and what it makes of the squared move of x, z and y together. *)
Definition stretch (rho : R) (h : penalty) : R :=
  match h with
  | scad lam a => (a - 1) / (a - 1 - 1 / rho)
  | mcp lam gamma => gamma / (gamma - 1 / rho)
  | _ => 1
  end.
Definition joint_move (rho L : R) : R := 1 + Rmax (rho ^ 2) (L ^ 2 + rho ^ 2 * (L - 1) ^ 2).

(* ---- Groups. ---- *)

Lemma lsum_permutation {A} (f : A -> R) l l' : Permutation l l' -> lsum f l = lsum f l'.
Proof. intro H. induction H; simpl; lra. Qed.

Lemma lsum_filter (f : nat -> R) (b : nat -> bool) l : (forall i, b i = false -> f i = 0) -> lsum f (filter b l) = lsum f l.
Proof.
  intro H. induction l as [ | i l IH ]; [ reflexivity | ]. cbn [filter lsum]. destruct (b i) eqn:E; cbn [lsum]; rewrite IH; [ reflexivity | ].
  rewrite (H i E). ring.
Qed.

Lemma sum_as_lsum p f : sum p f = lsum f (seq 0 p).
Proof. induction p as [ | p IH ]; [ reflexivity | ]. rewrite seq_S, lsum_app, <- IH. simpl. ring. Qed.

Lemma lsum_concat (f : nat -> R) groups : lsum f (concat groups) = lsum (lsum f) groups.
Proof. induction groups as [ | g groups IH ]; [ reflexivity | ]. cbn [concat lsum]. now rewrite lsum_app, IH. Qed.

Lemma nodup_app {A} (l l' : list A) : NoDup (l ++ l') -> NoDup l' /\ forall x, In x l -> ~ In x l'.
Proof.
  induction l as [ | a l IH ]; [ intro H; split; [ exact H | easy ] | ]. simpl. intro H. inversion H as [ | x k N D ]; subst.
  destruct (IH D) as (D' & No). split; [ exact D' | ]. intros y [ <- | Hy ]; [ intro; apply N, in_or_app; auto | auto ].
Qed.

Lemma in_group i g : existsb (Nat.eqb i) g = true <-> In i g.
Proof.
  rewrite existsb_exists. split; [ intros (j & Hj & E); apply Nat.eqb_eq in E; now subst | ].
  intro H. exists i. split; [ exact H | apply Nat.eqb_refl ].
Qed.

Lemma group_found groups g i : NoDup (concat groups) -> In g groups -> In i g -> find (existsb (Nat.eqb i)) groups = Some g.
Proof.
  induction groups as [ | g0 groups IH ]; [ easy | ]. cbn [concat find]. intros D [ <- | Hg ] Hi.
  - apply in_group in Hi. now rewrite Hi.
  - destruct (nodup_app _ _ D) as (D' & No). destruct (existsb (Nat.eqb i) g0) eqn:E; [ | auto ].
    apply in_group in E. exfalso. apply (No i E), in_concat. eauto.
Qed.

Lemma none_found groups i : find (existsb (Nat.eqb i)) groups = None -> ~ In i (concat groups).
Proof.
  intros H (g & Hg & Hi)%in_concat. pose proof (find_none _ _ H g Hg) as N. apply in_group in Hi. congruence.
Qed.

Definition shrinkage (lam rho N : R) : R := if greater reals N (lam / rho) then 1 - lam / rho / N else 0.

Lemma shrinkage_parts lam rho N : 0 <= lam -> 0 < rho -> 0 <= N -> 0 <= shrinkage lam rho N <= 1 /\
  ((N <= lam / rho /\ shrinkage lam rho N = 0) \/ (lam / rho < N /\ shrinkage lam rho N * N = N - lam / rho)).
Proof.
  intros Hl Hr HN. assert (T : 0 <= lam / rho) by (unfold Rdiv; apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]).
  unfold shrinkage. destruct (greater reals N (lam / rho)) eqn:E.
  - apply greater_true in E. assert (S : (1 - lam / rho / N) * N = N - lam / rho) by (field; lra). split; [ | now right ].
    assert (0 <= lam / rho / N <= 1); [ | lra ]. split; [ unfold Rdiv at 1; apply Rmult_le_pos; [ lra | left; apply Rinv_0_lt_compat; lra ] | ].
    apply Rmult_le_reg_r with N; [ lra | ]. nra.
  - apply greater_false in E. split; [ lra | now left ].
Qed.

(* One group: what is taken away and what is kept point the same way, by the inequality of Cauchy and Schwarz. *)
Lemma group_monotone lam rho g (w w' : vector) : 0 <= lam -> 0 < rho ->
  let c u := shrinkage lam rho (real_length (map u g)) in
  0 <= lsum (fun i => ((w i - w' i) - (w i * c w - w' i * c w')) * (w i * c w - w' i * c w')) g.
Proof.
  intros Hl Hr c.
  assert (Dot : forall u v, lsum (fun i => u i * v i) g = dot (Datatypes.length g) (fun k => u (nth k g O)) (fun k => v (nth k g O))).
  { intros u v. clear. induction g as [ | i g IH ] using rev_ind; [ reflexivity | ].
    rewrite lsum_app, app_length, Nat.add_1_r. unfold dot. cbn [sum lsum]. rewrite IH. f_equal.
    - apply sum_ext. intros k Hk. now rewrite !app_nth1 by exact Hk.
    - rewrite !app_nth2, Nat.sub_diag by lia. simpl. ring. }
  assert (Len : forall u, real_length (map u g) = norm (Datatypes.length g) (fun k => u (nth k g O))).
  { intro u. unfold norm, sq. rewrite <- (Dot u u). unfold real_length. f_equal. clear. induction g; simpl; [ reflexivity | ]. now rewrite IHg. }
  set (N := real_length (map w g)) in *. set (N' := real_length (map w' g)) in *.
  assert (HN : 0 <= N) by apply sqrt_pos. assert (HN' : 0 <= N') by apply sqrt_pos.
  assert (E : N * N = lsum (fun i => w i * w i) g) by (rewrite Dot; unfold N; rewrite Len, norm_squared; reflexivity).
  assert (E' : N' * N' = lsum (fun i => w' i * w' i) g) by (rewrite Dot; unfold N'; rewrite Len, norm_squared; reflexivity).
  assert (CS : lsum (fun i => w i * w' i) g <= N * N').
  { rewrite Dot. unfold N, N'. rewrite !Len.
    apply (@inner_le_lengths (coordinates (Datatypes.length g)) (fun k => w (nth k g O)) (fun k => w' (nth k g O))). }
  unfold c. fold N N'. destruct (shrinkage_parts lam rho N Hl Hr HN) as (B & S). destruct (shrinkage_parts lam rho N' Hl Hr HN') as (B' & S').
  set (al := shrinkage lam rho N) in *. set (be := shrinkage lam rho N') in *.
  assert (X : lsum (fun i => ((w i - w' i) - (w i * al - w' i * be)) * (w i * al - w' i * be)) g
    = (1 - al) * al * lsum (fun i => w i * w i) g + (1 - be) * be * lsum (fun i => w' i * w' i) g
      - ((1 - al) * be + al * (1 - be)) * lsum (fun i => w i * w' i) g).
  { clearbody al be. clear. induction g; simpl; [ ring | ]. rewrite IHg. ring. }
  refine (eq_ind_r (fun s => 0 <= s) _ X). rewrite <- E, <- E'. assert (K : 0 <= (1 - al) * be + al * (1 - be)) by nra.
  pose proof (Rmult_le_compat_l _ _ _ K CS) as M.
  assert (Q : 0 <= ((1 - al) * N - (1 - be) * N') * (al * N - be * N')); [ | nra ].
  replace ((1 - al) * N) with (N - al * N) by ring. replace ((1 - be) * N') with (N' - be * N') by ring.
  destruct S as [ (S1 & ->) | (S1 & ->) ]; destruct S' as [ (T1 & ->) | (T1 & ->) ]; nra.
Qed.

Lemma group_entry lam rho groups g w i : NoDup (concat groups) -> In g groups -> In i g ->
  prox_group reals real_length lam groups w rho i = w i * shrinkage lam rho (real_length (map w g)).
Proof. intros D Hg Hi. unfold prox_group. now rewrite (group_found groups g i D Hg Hi). Qed.

Lemma group_joint_factor p lam rho groups : 0 < rho -> admitted p rho (group_l1 lam groups) ->
  joint_factor p (prox_group reals real_length lam groups) rho (joint_move rho 1).
Proof.
  intros Hr (Hl & D & Hp) w w'. set (prox := prox_group reals real_length lam groups).
  set (f := fun i => (diff w w' i - diff (prox w rho) (prox w' rho) i) * diff (prox w rho) (prox w' rho) i).
  assert (Out : forall i, existsb (Nat.eqb i) (concat groups) = false -> f i = 0).
  { intros i Hi. unfold f, diff, prox, prox_group. destruct (find (existsb (Nat.eqb i)) groups) as [ g | ] eqn:F; [ | ring ].
    apply find_some in F as (Hg & Hig). apply in_group in Hig. exfalso.
    assert (existsb (Nat.eqb i) (concat groups) = true) by (apply in_group, in_concat; eauto). congruence. }
  assert (F : 0 <= sum p f).
  { rewrite sum_as_lsum, <- (lsum_filter f (fun i => existsb (Nat.eqb i) (concat groups)) (seq 0 p) Out).
    rewrite (lsum_permutation f _ (concat groups)).
    2: { apply NoDup_Permutation; [ apply NoDup_filter, seq_NoDup | exact D | ]. intro i. rewrite filter_In, in_seq, in_group.
         split; [ tauto | ]. intro Hi. pose proof (Hp i Hi). split; [ lia | exact Hi ]. }
    rewrite lsum_concat. apply lsum_nonneg. intros g Hg. eapply Rle_trans; [ apply (group_monotone lam rho g w w' Hl Hr) | ].
    right. apply lsum_ext. intros i Hi. unfold f, diff, prox. now rewrite !(group_entry lam rho groups g _ i D Hg Hi). }
  set (e := fun i => diff w w' i - diff (prox w rho) (prox w' rho) i).
  assert (S : sq p (diff w w') = sq p (diff (prox w rho) (prox w' rho)) + sq p e + 2 * sum p f).
  { unfold sq, dot. rewrite <- sum_scale, <- !Vectors.sum_plus. apply sum_ext. intros i _. unfold e, f. ring. }
  change (sq p (fun i => rho * (diff w w' i - diff (prox w rho) (prox w' rho) i))) with (sq p (fun i => rho * e i)).
  rewrite sq_scale. pose proof (sq_nonneg p (diff (prox w rho) (prox w' rho))). pose proof (sq_nonneg p e). unfold joint_move.
  pose proof (Rmax_l (rho ^ 2) (1 ^ 2 + rho ^ 2 * (1 - 1) ^ 2)). pose proof (Rmax_r (rho ^ 2) (1 ^ 2 + rho ^ 2 * (1 - 1) ^ 2)).
  set (M := Rmax _ _) in *. simpl in *. nra.
Qed.

(* ---- Every penalty. ---- *)

Lemma without_weight a gamma rho w : prox_scad reals 0 a w rho = w /\ prox_mcp reals 0 gamma w rho = w.
Proof.
  rewrite scad_real, mcp_real, !Rmult_0_r, !Rmult_0_l.
  destruct (Rlt_dec 0 (Rabs w)) as [ H | H ]; [ split; reflexivity | ].
  assert (w = 0) as -> by (destruct (Req_dec w 0) as [ E | E ]; [ exact E | pose proof (Rabs_pos_lt w E); lra ]).
  assert (E : soft_threshold reals 0 0 = 0) by (rewrite soft_threshold_real, Ropp_0; apply Rminus_diag_eq; reflexivity).
  rewrite E. split; [ reflexivity | apply Rmult_0_l ].
Qed.

Lemma at_least_1 x y : 0 < y <= x -> 1 <= x / y.
Proof. intro H. apply Rmult_le_reg_r with y; [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. Qed.

Lemma penalty_slopes p rho h (P : R -> R -> R) : 0 < rho -> admitted p rho h -> prox_of h = coordinatewise reals P ->
  (forall v v', v <= v' -> 0 <= P v' rho - P v rho <= stretch rho h * (v' - v)) ->
  1 <= stretch rho h -> joint_factor p (prox_of h) rho (joint_move rho (stretch rho h)).
Proof. intros Hr _ E H HL. rewrite E. now apply folded_joint_factor. Qed.

(** Settles: E11, JOINT, GRID. With the parameters that the reference admits, the squared moves of x, z and y together are at
    most that of x times 1 + max(rho^2, L^2 + rho^2 (L-1)^2), with L = 1 for every convex penalty. *)
Theorem every_penalty_has_a_joint_factor (p : nat) (rho : R) (h : penalty) : 0 < rho -> admitted p rho h ->
  forall w w' : vector, let dx := diff w w' in let dz := diff (prox_of h w rho) (prox_of h w' rho) in
  sq p dx + sq p dz + sq p (fun i => rho * (dx i - dz i)) <= joint_move rho (stretch rho h) * sq p dx.
Proof.
  intros Hr Ha. change (joint_factor p (prox_of h) rho (joint_move rho (stretch rho h))).
  assert (Ht : 0 < 1 / rho) by (apply Rdiv_lt_0_compat; lra).
  destruct h as [ | lam | lam r | lam a | lam gamma | lam groups ]; [ | | | | | now apply group_joint_factor ];
    (eapply penalty_slopes; [ exact Hr | exact Ha | reflexivity | intros v v' Hv; cbn [stretch] | cbn [stretch] ]).
  - unfold prox_none. lra.
  - lra.
  - unfold prox_l1. cbn [div reals]. assert (0 <= lam / rho) by (apply Rmult_le_pos; [ exact Ha | left; now apply Rinv_0_lt_compat ]).
    pose proof (soft_threshold_steep v v' (lam / rho) ltac:(assumption) Hv). lra.
  - lra.
  - destruct Ha as (Hl & R0). unfold prox_elastic_net. cbn [div mul add sub of_nat reals]. change (INR 1) with 1.
    assert (0 <= / rho) by (left; now apply Rinv_0_lt_compat).
    assert (0 <= lam * r * / rho) by (apply Rmult_le_pos; nra). assert (K : 0 <= lam * (1 - r) * / rho) by (apply Rmult_le_pos; nra).
    pose proof (soft_threshold_steep v v' (lam * r / rho) ltac:(assumption) Hv) as S. set (A := soft_threshold reals v' _) in *. set (B := soft_threshold reals v _) in *.
    set (k := lam * (1 - r) * / rho) in *. replace (A / (1 + lam * (1 - r) / rho) - B / (1 + lam * (1 - r) / rho)) with ((A - B) * / (1 + k)) by (unfold k; unfold Rdiv; ring).
    assert (I : 0 < / (1 + k)) by (apply Rinv_0_lt_compat; lra). assert (I1 : / (1 + k) <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). nra.
  - lra.
  - destruct Ha as (Hl & Ha'). destruct (Req_dec lam 0) as [ -> | N ]; [ | apply scad_stretch; lra ].
    rewrite !(proj1 (without_weight a 1 rho _)). pose proof (at_least_1 (a - 1) (a - 1 - 1 / rho) ltac:(lra)). nra.
  - destruct Ha as (Hl & Ha'). apply at_least_1. lra.
  - destruct Ha as (Hl & Ha'). destruct (Req_dec lam 0) as [ -> | N ]; [ | apply mcp_stretch; lra ].
    rewrite !(proj2 (without_weight 1 gamma rho _)). pose proof (at_least_1 gamma (gamma - 1 / rho) ltac:(lra)). nra.
  - destruct Ha as (Hl & Ha'). apply at_least_1. lra.
Qed.

(** Settles: CLIP. The record that the reference makes of a label and features, on the reals: its norm is that of the
    signed features. *)
Theorem signed_record_is_measured (p : nat) (label : R) (features : vector) : label * label = 1 ->
  signed_record reals real_length p label features
  = (norm p (fun i => label * features i), fun i => label * features i).
Proof.
  intro H. unfold signed_record. cbn [mul reals]. f_equal. unfold norm, real_length. f_equal. rewrite sq_scale, H, Rmult_1_l. unfold sq, dot.
  rewrite sum_as_lsum. induction (seq 0 p) as [ | i l IH ]; [ reflexivity | ]. cbn [map fold_right lsum]. now f_equal.
Qed.
